"""Pass a child's output on, byte for byte, and keep its end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import threading
import time
from collections import deque
from typing import IO, Protocol

_CHUNK = 65536
_PIPE = 1 << 20  # as much as the kernel lets everybody have


class Tail:
    """The last bytes of a stream.

    Args:
        limit: how many bytes to keep.
    """

    def __init__(self, limit: int = 65536) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        """Append what came."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        while self._size - len(self._chunks[0]) >= self._limit:
            self._size -= len(self._chunks.popleft())

    @property
    def text(self) -> str:
        """The end of the stream as text; bytes that are not UTF-8 are replaced."""
        return b"".join(self._chunks)[-self._limit :].decode(errors="replace")


def write(fd: int, data: bytes) -> None:
    """Write all of it, also where somebody made the descriptor non-blocking.

    Open MPI 5 does that to its stdout, which is ours, too.

    Raises:
        OSError: nobody reads any more.
    """
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            room = select.poll()
            room.register(fd, select.POLLOUT)
            room.poll()


class Sieve(Protocol):
    """Shows a stream in its own way, and tells what mpirun itself has said in it."""

    @property
    def due(self) -> float:
        """When `late` is to be called though nothing has come, on the monotonic clock."""

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk; return what was mpirun's own."""

    def late(self) -> None:
        """Show what has waited long enough."""

    def end(self) -> bytes:
        """Show what is left; return what was mpirun's own."""


class Sink(Protocol):
    """Takes a copy of what is shown."""

    def write(self, data: bytes, /) -> object:
        """Take a piece; what goes wrong is an OSError."""


class Copier(threading.Thread):
    """Copy a pipe to one of our own descriptors, and to a file if wanted, until it ends.

    A thread of its own: a reader of our output that stalls must not stop the heartbeats.

    Args:
        source: the pipe.
        target: our descriptor.
        copy: gets the same; None: nothing does.
            sieve: shows what comes in place of a bare copy, there and wherever else it is wanted.
        recent: gets the same, too.
    """

    def __init__(
        self,
        source: IO[bytes],
        target: int,
        copy: Sink | None,
        sieve: Sieve | None = None,
        recent: Sink | None = None,
    ) -> None:
        super().__init__(daemon=True, name=f"copy-{target}")
        self._sieve = sieve
        self._source = source
        self._target = target
        self._copies = [one for one in (copy, recent) if one is not None]
        self.tail = Tail()
        self.heard_at = 0.0
        # Some mpiruns lose or mix output when they have to wait for us.
        with contextlib.suppress(OSError):
            fcntl.fcntl(source.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)

    def run(self) -> None:
        """Copy until the last writer has closed the pipe."""
        fd = self._source.fileno()
        while True:
            if self._sieve is not None:
                _await(fd, self._sieve)
            chunk = os.read(fd, _CHUNK)
            self.heard_at = time.monotonic()  # the clock of asyncio's loop
            if self._sieve is not None:
                self.tail.add(self._sieve.feed(chunk) if chunk else self._sieve.end())
            elif chunk:
                self._take(chunk)
            if not chunk:
                return

    def _take(self, chunk: bytes) -> None:
        self.tail.add(chunk)
        for copy in self._copies:
            with contextlib.suppress(OSError, ValueError):
                copy.write(chunk)
        self._pass_on(chunk)

    def _pass_on(self, chunk: bytes) -> None:
        try:
            write(self._target, chunk)
        except OSError:
            # Nobody reads our output any more; the job goes on, and its end is still seen.
            self._target = os.open(os.devnull, os.O_WRONLY)


def _await(fd: int, sieve: Sieve) -> None:
    """Wait until something comes; meanwhile show what has waited long enough."""
    while (due := sieve.due) < float("inf"):
        ready = select.poll()
        ready.register(fd, select.POLLIN)
        if ready.poll(max(0.0, due - time.monotonic()) * 1000):
            return
        sieve.late()
