"""Slots: as given, or from what a worker really has; ranks: all slots unless told."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mpiboot.local.cluster import Bind
from tests.helpers.agents import MPIBOOT, SECRET_IN_POD, Agent, Agents, program

RING = program("ring.py")
CPUS = len(os.sched_getaffinity(0))
CONFIGURATION = 78


def ranks(launcher: Agent) -> dict[str, int]:
    """Count the ranks of each host, all of which must agree on how many there are."""
    assert launcher.wait() == 0
    lines = [line.split() for line in launcher.out.decode().splitlines()]
    assert all(line[1].endswith(f"/{len(lines)}") for line in lines)
    return dict(Counter(line[2] for line in lines))


def quota(directory: Path, version: int) -> Bind:
    """Show a pod a cgroup of 1.5 CPUs, of either version."""
    cgroup = directory / "cgroup"
    place = cgroup if version == 2 else cgroup / "cpu"
    place.mkdir(parents=True)
    if version == 2:
        (place / "cpu.max").write_text("150000 100000\n")
    else:
        (place / "cpu.cfs_quota_us").write_text("150000\n")
        (place / "cpu.cfs_period_us").write_text("100000\n")
    return Bind(source=str(cgroup), target="/sys/fs/cgroup")


def test_slots_as_given(agents: Agents) -> None:
    """Slots of the host list are the ranks of each host, in the order of the list."""
    agents.workers(2)
    launcher = agents.launcher(*RING, hosts="w1:2,w2:1")
    assert ranks(launcher) == {"w1": 2, "w2": 1}
    lines = sorted(launcher.out.decode().splitlines())
    assert lines == ["OK 0/3 w1", "OK 1/3 w1", "OK 2/3 w2"]
    agents.assert_global()


def test_slots_of_a_hostfile(agents: Agents, tmp_path: Path) -> None:
    """A hostfile of mixed dialects gives the same, and --slots fills in what it leaves open."""
    hostfile = tmp_path / "hostfile"
    hostfile.write_bytes(b"# two hosts\r\n\r\nw1:1\r\nw2  # no slots")
    agents.workers(2)
    options = ("--hostfile", str(hostfile), "--slots", "2")
    launcher = agents.launcher(*RING, hosts="", options=options)
    assert ranks(launcher) == {"w1": 1, "w2": 2}
    agents.assert_global()


def test_slots_auto_from_affinity(agents: Agents) -> None:
    """Without slots, each worker counts the CPUs that it may use."""
    pinned = ("taskset", "-c", str(min(os.sched_getaffinity(0))), *MPIBOOT, "worker")
    secret = Bind(source=str(agents.secret_path), target=SECRET_IN_POD)
    agents.start("w1", pinned, env={"MPIBOOT_SECRET_FILE": SECRET_IN_POD}, binds=(secret,))
    agents.worker("w2")
    launcher = agents.launcher(*RING, hosts="w1,w2")
    assert ranks(launcher) == {"w1": 1, "w2": CPUS}
    agents.assert_global()


@pytest.mark.skipif(CPUS < 2, reason="a quota of 1.5 CPUs is no limit here")
@pytest.mark.parametrize("version", [1, 2])
def test_slots_auto_from_the_cgroups_quota(agents: Agents, tmp_path: Path, version: int) -> None:
    """A quota counts as whole CPUs, rounded down: 1.5 CPUs are one slot."""
    agents.worker("w1", binds=(quota(tmp_path, version),))
    launcher = agents.launcher(*RING, hosts="w1")
    assert ranks(launcher) == {"w1": 1}
    agents.assert_global()


def test_slots_auto_from_gpus(agents: Agents, tmp_path: Path) -> None:
    """Visible GPUs come before CPUs."""
    node = tmp_path / "gpu"
    node.touch()
    nodes = [Bind(source=str(node), target=f"/dev/nvidia{number}") for number in range(3)]
    agents.worker("w1", binds=nodes)
    agents.worker("w2", binds=nodes, env={"CUDA_VISIBLE_DEVICES": "1"})
    launcher = agents.launcher(*RING, hosts="w1,w2")
    assert ranks(launcher) == {"w1": 3, "w2": 1}
    agents.assert_global()


def test_np_below_the_slots(agents: Agents) -> None:
    """Fewer ranks than slots fill the workers in order; a worker without a rank leaves, too."""
    agents.workers(2)
    launcher = agents.launcher(*RING, hosts="w1:2,w2:2", options=("-np", "2"))
    assert ranks(launcher) == {"w1": 2}
    agents.assert_global()


def beyond(agents: Agents, *options: str, **spec: Any) -> list[str]:
    """Want more ranks than there are slots; return the lines that say so."""
    launcher = agents.launcher(*RING, options=options, **spec)
    assert launcher.wait() == CONFIGURATION
    assert launcher.out == b""
    agents.assert_global()
    return launcher.log.splitlines()


def test_np_beyond_the_slots(agents: Agents) -> None:
    """More ranks than slots: 78 with the table of who has how many and why; workers are released."""
    workers = agents.workers(2)
    lines = beyond(agents, "-np", "4", "--slots", "1", hosts="w1,w2:2")
    assert "4 ranks are wanted, but the workers have 3 slots" in lines[-3]
    assert "w1  slots 1 (--slots)" in lines[-2]
    assert "w2  slots 2 (given with the host)" in lines[-1]
    assert [worker.wait() for worker in workers] == [246, 246]
