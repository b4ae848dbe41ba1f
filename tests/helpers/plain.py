"""Programs as plain children of the test, not as PID 1: who leaves something behind is found out."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.helpers.eventually import eventually

# <linux/prctl.h>, <linux/sched.h>, <linux/mount.h>
_PR_SET_CHILD_SUBREAPER = 36
_NEW_MOUNT = 0x20000
_BIND, _REC_PRIVATE = 4096, 16384 | 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)


def children() -> list[str]:
    """Name the living children of the test itself, adopted ones and zombies too."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        # A thread may end while we look, and so may a child.
        pids: list[str] = []
        with contextlib.suppress(OSError):
            pids = (task / "children").read_text().split()
        for pid in pids:
            with contextlib.suppress(OSError):
                found.append(f"{pid} {Path(f'/proc/{pid}/comm').read_text().strip()}")
    return found


def free_port() -> int:
    """Return a TCP port that nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("", 0))
        port: int = sock.getsockname()[1]
        return port


class Plain:
    """The plain children of one test.

    Args:
        directory: where their output goes.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._others = set(children())  # keepers of pods that more than one test uses
        self.running: list[subprocess.Popen[bytes]] = []

    def start(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: int | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a program; its streams go to `out(popen)` and `log(popen)`."""
        number = len(self.running)
        with (
            self._path(number, "out").open("wb") as out,
            self._path(number, "log").open("wb") as log,
        ):
            popen = subprocess.Popen(
                argv,
                env={"PATH": os.environ["PATH"], **(env or {})},
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=out,
                stderr=log,
                start_new_session=True,
                preexec_fn=_hide_bashrc,  # noqa: PLW1509 - no thread is about that holds a lock
            )
        self.running.append(popen)
        return popen

    def out(self, popen: subprocess.Popen[bytes]) -> str:
        """Return what a program has written to stdout so far."""
        return self._path(self.running.index(popen), "out").read_text(errors="replace")

    def log(self, popen: subprocess.Popen[bytes]) -> str:
        """Return what a program has written to stderr so far."""
        return self._path(self.running.index(popen), "log").read_text(errors="replace")

    def assert_gone(self, timeout_s: float = 5.0) -> None:
        """Assert that all have ended, and with them everything that they have started."""

        def check() -> None:
            for popen in self.running:
                popen.poll()
            assert self.left() == []

        eventually(check, timeout_s)

    def left(self) -> list[str]:
        """Name what is there that was not there before the test."""
        return [line for line in children() if line not in self._others]

    def _path(self, number: int, kind: str) -> Path:
        return self._directory / f"plain-{number}.{kind}"


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Plain]:
    """Plain children; the test itself adopts what they leave behind, and kills it afterwards."""
    assert _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    made = Plain(tmp_path)
    try:
        yield made
    finally:
        _end_all(made)
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        for popen in made.running:
            popen.poll()
            if popen.stdin is not None:
                popen.stdin.close()
            print(f"--- {popen.args!r} ({popen.returncode})\n{made.log(popen)}")  # noqa: T201


def _hide_bashrc() -> None:
    """Cover .bashrc in a mount namespace of our own: this machine's may do anything at a login."""
    path = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".bashrc"
    if os.getuid() == 0 and path.is_file():
        assert _libc.unshare(_NEW_MOUNT) == 0
        assert _libc.mount(b"none", b"/", None, ctypes.c_ulong(_REC_PRIVATE), None) == 0
        assert _libc.mount(b"/dev/null", bytes(path), None, ctypes.c_ulong(_BIND), None) == 0


def _end_all(plain: Plain) -> None:
    """Kill and reap all that the test has started, and those that are adopted while we do so."""
    deadline = time.monotonic() + 10
    while (left := plain.left()) and time.monotonic() < deadline:
        for line in left:
            pid = int(line.split()[0])
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
