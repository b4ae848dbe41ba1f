"""A call becomes a worker or a launcher only where everything says so; else it is the real program's."""

from __future__ import annotations

import shlex

import pytest

from mpiboot.plan import shimcalls
from mpiboot.plan.shimcalls import Turn


def turn(text: str, role: str, env: dict[str, str] | None = None, *, at_work: bool = False) -> Turn:
    name, *args = shlex.split(text)
    return shimcalls.decide(name, args, env or {}, role=role, at_work=at_work)


@pytest.mark.parametrize(
    "text",
    [
        "mpirun -np 2 python train.py",
        "mpiexec hostname",
        "mpiexec.hydra -n 2 ./a.out",
        "horovodrun -np 2 python train.py",
        "prterun hostname",
    ],
)
def test_launcher(text: str) -> None:
    """Each name of a launcher, on a launcher alone."""
    assert turn(text, "launcher") is Turn.LAUNCHER
    assert turn(text, "worker") is Turn.PASS
    assert turn(text, "") is Turn.PASS


@pytest.mark.parametrize("text", ["mpirun", "mpirun --version", "mpirun -V", "horovodrun --help"])
def test_questions(text: str) -> None:
    """What starts no ranks is answered by the program itself."""
    assert turn(text, "launcher") is Turn.PASS


def test_worker() -> None:
    """An sshd that stays is the worker; one that goes into the background takes the worker along."""
    assert turn("sshd -De", "worker") is Turn.WORKER
    assert turn("sshd -De -f /x", "worker") is Turn.WORKER
    assert turn("sshd", "worker") is Turn.BACKGROUND
    for role in ("launcher", ""):
        assert turn("sshd -De", role) is Turn.PASS
    for words in ("-t", "-T", "-i", "-R", "-De extra"):
        assert turn(f"sshd {words}", "worker") is Turn.PASS


@pytest.mark.parametrize(("text", "role"), [("mpirun -np 2 x", "launcher"), ("sshd -De", "worker")])
def test_never_twice(text: str, role: str) -> None:
    """Not in a session, a rank, or what an agent started; not beside one; not where it is off."""
    assert turn(text, role, at_work=True) is Turn.PASS
    for env in (
        {"MPIBOOT_SHIMS": "off"},
        {"MPIBOOT_SHIMS": "inside"},
        {"SSH_CONNECTION": "10.0.0.1 4 10.0.0.2 22"},
        {"OMPI_COMM_WORLD_RANK": "0"},
        {"PMI_RANK": "0"},
    ):
        assert turn(text, role, env) is Turn.PASS
    for env in ({"MPIBOOT_SHIMS": "on"}, {"MPIBOOT_SHIMS": ""}):
        assert turn(text, role, env) is not Turn.PASS


@pytest.mark.parametrize(
    ("pid", "parent", "first", "last"),
    [(1, 0, "mpirun", True), (7, 1, "tini", True), (7, 1, "bash", False), (9, 7, "tini", False)],
)
def test_last(pid: int, parent: int, first: str, last: bool) -> None:
    """The container ends with PID 1, or with what an init runs; after a script's call others may come."""
    assert shimcalls.last(pid, parent, first) is last
