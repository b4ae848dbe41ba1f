"""The last words of a rank whose wrapper was killed: what it has kept, and what it had not read yet."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from mpiboot.link.messages import Message

_LIMIT = 4096  # bytes
_PIPE = 1 << 20  # no pipe holds more


class Said:
    """What is there of one rank's stderr.

    MPICH ends a job that was aborted with SIGKILL, to the wrappers too, and may not read what was on
    its way. We hold the pipe from the program open beside the wrapper, but read it only afterwards.

    Args:
        directory: of our socket.
        started: the wrapper's report.
    """

    def __init__(self, directory: Path, started: Message) -> None:
        wrapper, fd, pid = (started.body.get(key) for key in ("wrapper", "err", "pid"))
        self._kept = directory / f"said.{pid}" if isinstance(pid, int) else None
        self._fd = -1
        if isinstance(wrapper, int) and isinstance(fd, int):
            with contextlib.suppress(OSError):  # it has ended already, or is another user's
                self._fd = os.open(f"/proc/{wrapper}/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK)

    def text(self) -> str:
        """Return the last words; call once, when the wrapper has gone."""
        kept, left = b"", b""
        if self._kept is not None:
            with contextlib.suppress(OSError):
                kept = _end_of(self._kept)
                self._kept.unlink()
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                left = os.read(self._fd, _PIPE)
        return (kept + left)[-_LIMIT:].decode(errors="replace")

    def close(self) -> None:
        """Let go of the pipe: writers must find out when nobody reads any more."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _end_of(path: Path) -> bytes:
    """Read the end of a file that a rank's user may have put anything in the place of."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode):
            return b""
        return os.pread(fd, _LIMIT, max(0, seen.st_size - _LIMIT))
    finally:
        os.close(fd)
