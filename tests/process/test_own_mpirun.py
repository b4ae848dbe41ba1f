"""A job's command that starts mpirun or horovodrun itself: told of the workers, never wrapped twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.agents import Agents
from tests.helpers.mpis import MPIS, OPENMPI4, Mpi
from tests.process.test_every_mpi import launch

# The line that users of Horovod have in their scripts; 5.0.11 rejects its first two flags.
SEEDS = (
    "-bind-to", "none", "-map-by", "slot", "-x", "NCCL_DEBUG=INFO", "-x", "PATH",
    "-mca", "pml", "ob1", "-mca", "btl", "^openib",
)  # fmt: skip
RING = ["OK 0/2 w1", "OK 1/2 w2"]


@pytest.fixture(params=MPIS, ids=str)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI in turn."""
    chosen: Mpi = request.param
    chosen.need()
    return chosen


def prefix(form: str, mpi: Mpi, job: str, directory: Path) -> tuple[str, ...]:
    """Put a job behind mpirun in one of the forms that people use."""
    script = directory / "run.sh"
    script.write_text(f"#!/bin/bash\nset -e\ncd /\nmpirun {job}\n")
    script.chmod(0o755)
    forms = {
        "plain": ("mpirun", *job.split()),
        "mpiexec": ("mpiexec", "-n", "2", *job.split()),
        "path": (str(mpi.home / "bin/mpirun"), *job.split()),
        "env-timeout": ("env", "A=1", "timeout", "60", "mpirun", "-np", "2", *job.split()),
        "shell": ("sh", "-c", f"cd / && mpirun {job}"),
        "script": (str(script),),
    }
    return forms[form]


@pytest.mark.parametrize("form", ["plain", "mpiexec", "path", "env-timeout", "shell", "script"])
def test_it_finds_the_workers(agents: Agents, mpi: Mpi, form: str, tmp_path: Path) -> None:
    """Hosts, ssh and root reach it in every form; there is one mpirun, and its ranks are two."""
    agents.workers(2, **mpi.pod)
    job = " ".join(mpi.python_program("ring.py"))
    launcher = launch(agents, mpi, *prefix(form, mpi, job, tmp_path), quick=False)
    assert launcher.wait() == 0
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == RING


def test_codes_are_the_jobs(agents: Agents, mpi: Mpi) -> None:
    """A rank's code comes through the user's mpirun, although another rank still waits."""
    agents.workers(2, **mpi.pod)
    launcher = launch(
        agents, mpi, "mpirun", *mpi.python_program("fate.py", "exit", "7"), quick=False
    )
    # What a user's own Open MPI 5 says is its own: a rank that lost its partner may come first.
    assert launcher.wait(60) in ((7, 14) if mpi.name == "openmpi5" else (7,))
    agents.assert_global()


@pytest.mark.parametrize("which", MPIS[:2], ids=str)
def test_horovods_line(agents: Agents, which: Mpi) -> None:
    """The seeds' line runs on Open MPI 4 as it is, and on 5 in other words, as the log says."""
    which.need()
    agents.workers(2, **which.pod)
    launcher = launch(
        agents, which, "mpirun", "-np", "2", *SEEDS, *which.python_program("ring.py"), quick=False
    )
    assert launcher.wait() == 0
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == RING
    reworded = re.search(r"-bind-to none → --bind-to none", launcher.log) is not None
    assert reworded == (which is not OPENMPI4)


def test_its_own_hosts_win(agents: Agents, mpi: Mpi) -> None:
    """A host list on its command line is the user's choice, and still reached through our ssh."""
    agents.workers(2, **mpi.pod)
    flag = "-hosts" if mpi.hydra else "-H"
    hosts = "w2" if mpi.hydra else "w2:1"
    launcher = launch(agents, mpi, "mpirun", flag, hosts, "-np", "1", "hostname", quick=False)
    assert launcher.wait() == 0
    agents.assert_global()
    assert launcher.out.decode().split() == ["w2"]


def test_it_can_be_switched_off(agents: Agents) -> None:
    """With --no-own-launcher the command is a program like any other."""
    agents.workers(1)
    launcher = launch(
        agents, OPENMPI4, "mpirun", "--version", options=("--no-own-launcher",), hosts="w1:1"
    )
    assert launcher.wait() == 0
    agents.assert_global()
    assert launcher.out.decode().startswith("mpirun (Open MPI) 4")
