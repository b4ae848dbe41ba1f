"""File systems as platforms mount them: read-only, full, or far down."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mpiboot.local.cluster import Bind
from tests.helpers.accountfiles import MPI, passwd
from tests.helpers.agents import PYTHON, Agent, Agents

CONFIGURATION = 78
SECRET: Mapping[str, str | None] = {
    "MPIBOOT_SECRET_FILE": None,
    "MPIBOOT_SECRET": "a secret of this test",
}
WHERE = (
    PYTHON,
    "-c",
    "import os, tempfile; print(os.environ.get('TMPDIR'), tempfile.gettempdir())",
)


def job(agents: Agents, env: Mapping[str, str | None] = SECRET, **pod: Any) -> list[Agent]:
    """Run a job on w1 in pods alike; return the launcher and the worker."""
    worker = agents.worker("w1", env=env, **pod)
    launcher = agents.launcher(*WHERE, hosts="w1:1", env=env, **pod)
    assert launcher.wait() == 0
    agents.assert_global()
    return [launcher, worker]


def test_a_tmpdir_far_down(agents: Agents, tmp_path: Path) -> None:
    """A path too long for a socket is passed over for /dev/shm; MPI's own files bear it."""
    far = "/tmp/" + "d" * 120
    pod: dict[str, Any] = {
        "uid": MPI, "gid": MPI, "binds": (passwd(tmp_path),),
        "tmpfs": ("/tmp:mode=1777", "/run:mode=755"),
    }  # fmt: skip
    launcher, worker = job(agents, {**SECRET, "TMPDIR": far}, **pod)
    assert launcher.out == f"{far} {far}\n".encode()
    for agent in (launcher, worker):
        assert "Traceback" not in agent.log


def test_a_runtime_dir_far_down(agents: Agents) -> None:
    """One that was asked for is not passed over: the line says how long it may be."""
    far = "/tmp/" + "d" * 120
    agent = agents.worker("w1", "--runtime-dir", far, tmpfs=("/tmp:mode=1777",))
    assert agent.wait(5) == CONFIGURATION
    assert "107 are possible" in agent.log
    assert "MPIBOOT_RUNTIME_DIR" in agent.log


@pytest.mark.parametrize("uid", [None, MPI])
def test_ssh_12_tmpdir_is_read_only(agents: Agents, tmp_path: Path, uid: int | None) -> None:
    """Where only /dev/shm, or root's /run, can be written, MPI's session files go there."""
    pod: dict[str, Any] = {
        "uid": uid, "binds": (passwd(tmp_path),),
        "tmpfs": ("/mnt:ro", "/run:mode=755", "/dev/shm:mode=1777"),
    }  # fmt: skip
    launcher, worker = job(agents, {**SECRET, "TMPDIR": "/mnt"}, **pod)
    base = "/run/mpiboot" if uid is None else f"/dev/shm/mpiboot-{MPI}"
    assert launcher.out == f"{base}/worker/tmp {base}/worker/tmp\n".encode()
    for agent in (launcher, worker):
        assert "Read-only file system" in agent.log


def test_tmpdir_is_full(agents: Agents, tmp_path: Path) -> None:
    """A full $TMPDIR is as good as none, for the agent and for MPI."""
    pod: dict[str, Any] = {
        "uid": MPI, "gid": MPI, "binds": (passwd(tmp_path),),
        "tmpfs": ("/mnt:mode=1777,size=32k", "/run:mode=755", "/dev/shm:mode=1777"),
    }  # fmt: skip
    launcher, worker = job(agents, {**SECRET, "TMPDIR": "/mnt"}, **pod)
    assert launcher.out.startswith(f"/dev/shm/mpiboot-{MPI}/worker/tmp".encode())
    assert "No space left on device" in worker.log


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_what_another_user_has_laid_out(agents: Agents, tmp_path: Path, kind: str) -> None:
    """A directory of another user's, or a link, with the name of ours is passed over, and untouched."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    trap = shared / f"mpiboot-{MPI}"
    if kind == "link":
        trap.symlink_to("/mnt")
    else:
        trap.mkdir()
        trap.chmod(0o777)
    pod: dict[str, Any] = {
        "uid": MPI, "gid": MPI, "tmpfs": ("/dev/shm:mode=1777",),
        "binds": (passwd(tmp_path), Bind(source=str(shared), target="/mnt")),
    }  # fmt: skip
    _, worker = job(agents, {**SECRET, "TMPDIR": "/mnt"}, **pod)
    assert [path.name for path in shared.iterdir()] == [trap.name]
    assert kind == "link" or not any(trap.iterdir())
    assert "Traceback" not in worker.log


def test_no_place_at_all(agents: Agents, tmp_path: Path) -> None:
    """Each place that was tried is named with its reason, and what to mount."""
    pod: dict[str, Any] = {
        "uid": MPI, "gid": MPI, "binds": (passwd(tmp_path),),
        "tmpfs": ("/mnt:ro", "/dev/shm:mode=1777,size=32k"),
    }  # fmt: skip
    for role, words in (("worker", ()), ("launcher", ("--hosts", "w1:1", "--", "true"))):
        agent = agents.mpiboot(role, (role, *words), env={**SECRET, "TMPDIR": "/mnt"}, **pod)
        assert agent.wait(5) == CONFIGURATION
        for part in (
            "/run/mpiboot: ",
            f"/mnt/mpiboot-{MPI}: Read-only",
            "/dev/shm",
            "No space left",
        ):
            assert part in agent.log, part
        assert "mount a tmpfs at /run or /tmp" in agent.log
    agents.assert_global()
