"""Pass the program's stderr on as it comes, to know its last words."""

from __future__ import annotations

import os
import stat
import time

from mpiboot.link.wrap.ready import wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mpiboot.link.wrap.tail import Tail

_PIECE = 4096  # PIPE_BUF: what a pipe with room takes without waiting
_GRANDCHILDREN_S = 0.2
_STUCK_S = 5.0  # a reader that takes nothing for so long after the program's end will not any more
_LAST_BYTES = 1 << 20  # what the pipe can hold when the program ends, and more
_NEVER = float("inf")


class Source:
    """The pipe from the program.

    Attributes:
        fd: where it is read.
        open: whether there may be more to read now.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.open = True


class Passing:
    """The program's stderr, which goes through us; its stdout does not.

    What mpirun does not take is not taken from the program either, and it waits as it would alone.

    Attributes:
        ends: what the program gets.
        err: where its stderr is read.
        flush_at: never: nothing is held back.

    Args:
        tail: reads it, and keeps its end.
        unheard: is told when nobody reads any more.
    """

    flush_at = _NEVER

    def __init__(self, tail: Tail, unheard: Callable[[], None]) -> None:
        fd, end = os.pipe2(os.O_CLOEXEC)
        self.ends = 1, end
        self.err = fd
        self._source = Source(fd)
        self._tail = tail
        self._unheard = unheard
        self._pending = b""

    @property
    def streams(self) -> list[Source]:
        """Return what is to be read; nothing while mpirun does not take what has been."""
        return [] if self._pending else [self._source]

    @property
    def sinks(self) -> list[int]:
        """Return what has to take something before more is read."""
        return [2] if self._pending else []

    def begin(self) -> None:
        """Leave the program's end to the program."""
        os.close(self.ends[1])
        os.set_blocking(self._source.fd, False)

    def move(self, fds: list[int]) -> int:
        """Read and write what the descriptors that are ready allow; return how much was moved."""
        count = 0
        if self._source.fd in fds and self._source.open:
            chunk = self._read()
            self._pending += chunk
            count += len(chunk)
        while self._pending and (2 in fds or wait([], 0, [2])):
            fds = []
            count += self._write()
        return count

    def _read(self) -> bytes:
        try:
            chunk = self._tail.read(self._source.fd)
        except BlockingIOError:
            return b""
        if not chunk:
            self._close()
        return chunk

    def _write(self) -> int:
        try:
            count = os.write(2, self._pending[:_PIECE])
        except BlockingIOError:  # somebody has made it so, and its room is less than a piece
            time.sleep(0.001)
            return 0
        except OSError:
            self._pending = b""  # nobody reads: let the program find out, as it would alone
            self._close()
            self._unheard()
            return 0
        self._pending = self._pending[count:]
        return count

    def _close(self) -> None:
        if self._source.open:
            self._source.open = False
            os.close(self._source.fd)

    def finish(self) -> None:
        """Pass on what is left when the program has ended.

        What it left running may write for a moment longer; what comes later than that is lost.
        """
        deadline = time.monotonic() + _GRANDCHILDREN_S
        left = _LAST_BYTES
        while self._pending or self._source.open:
            wait_s = _STUCK_S if self._pending else deadline - time.monotonic()
            fds = [] if self._pending else [self._source.fd]
            ready = wait(fds, wait_s, self.sinks)
            late = time.monotonic() >= deadline
            if (not ready and (late or self._pending)) or (late and left <= 0):
                break
            left -= self.move(ready)


def possible() -> bool:
    """Tell whether stderr is a pipe of its own, as MPI's daemons make them.

    A terminal or a file stays what it is, and where both streams are one their order is kept.
    """
    try:
        out, err = os.fstat(1), os.fstat(2)
    except OSError:
        return False
    same = (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)
    return not same and (stat.S_ISFIFO(err.st_mode) or stat.S_ISSOCK(err.st_mode))
