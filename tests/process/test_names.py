"""Names that Open MPI or ssh cannot bear, and names that nobody published."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from mpiboot.local.cluster import Bind
from tests.helpers.agents import Agents, program
from tests.helpers.keyfiles import make_key_directory

RING = program("ring.py")
CONFIGURATION = 78


def test_name_04_a_workers_with_underscores(agents: Agents) -> None:
    """Compose's my_app_worker_1 works, as an alias and as the worker's own hostname."""
    agents.worker("w1", aliases=("my_app_worker_1",))
    agents.worker("my_app_worker_2")
    launcher = agents.launcher(*RING, hosts="my_app_worker_1:1,my_app_worker_2:1")
    assert launcher.wait() == 0
    said = sorted(launcher.out.decode().splitlines())
    assert said == ["OK 0/2 w1", "OK 1/2 my_app_worker_2"]
    assert "illegal character" not in launcher.log
    agents.assert_global()


def test_name_04_b_launcher_with_underscores(agents: Agents) -> None:
    """A launcher whose hostname Open MPI 4 refuses ends with 78, the hostname and the advice."""
    worker = agents.worker("w1")
    start = time.monotonic()
    launcher = agents.launcher(*RING, name="mbc_l_1")
    assert launcher.wait() == CONFIGURATION
    assert time.monotonic() - start < 10
    assert "'mbc_l_1'" in launcher.log
    assert "set another hostname for this container" in launcher.log
    assert "ORTE" not in launcher.log
    assert worker.wait() == 246
    agents.assert_global()


def test_name_06_the_launcher_works_under_a_name_without_record(agents: Agents) -> None:
    """The launcher's own FQDN in the list needs neither DNS nor an sshd: its ranks run right here."""
    worker = agents.worker("w1")
    launcher = agents.launcher(*RING, hosts="mbc-l.sub.ns.svc:1,w1:1", name="mbc-l")
    assert launcher.wait() == 0
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 mbc-l", "OK 1/2 w1"]
    assert worker.log.count("is here") == 1
    agents.assert_global()


def test_name_06_the_launcher_is_known_by_its_address(agents: Agents) -> None:
    """A name that resolves to one of the launcher's own addresses is the launcher."""
    agents.worker("w1")
    launcher = agents.launcher(*RING, hosts="w1:1,myself:1", aliases=("myself",))
    assert launcher.wait() == 0
    # Open MPI 4 puts its own node first, whatever the list says.
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 launcher", "OK 1/2 w1"]
    agents.assert_global()


def test_name_10_a_read_only_ssh_directory(agents: Agents, tmp_path: Path) -> None:
    """With ~/.ssh mounted read-only, no ssh config and no terminal, nobody asks and nobody warns."""
    keys = make_key_directory(tmp_path / "keys")
    pod: dict[str, Any] = {
        "env": {"MPIBOOT_SECRET_FILE": None},
        "binds": (Bind(source=str(keys), target="/root/.ssh", read_only=True),),
    }
    before = {path.name: path.read_bytes() for path in keys.iterdir()}
    agents.worker("w1", **pod)
    launcher = agents.launcher(*RING, **pod)
    assert launcher.wait() == 0
    assert launcher.out == b"OK 0/1 w1\n"
    for text in ("Permanently added", "Failed to add the host", "known_hosts"):
        assert text not in launcher.log
    assert {path.name: path.read_bytes() for path in keys.iterdir()} == before
    agents.assert_global()
