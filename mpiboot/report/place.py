"""One place where lines stand: a form, the turn of who writes there, and its descriptors."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol

from mpiboot.plan.frames import Record
from mpiboot.runtime.streams import write

_WHOLE = 4096  # PIPE_BUF: what a pipe takes in one piece, whoever else writes to it
_FDS = {"o": 1, "e": 2}


class Form(Protocol):
    """Turns pieces of output into what is written."""

    def show(self, record: Record) -> bytes:
        """Return what is to be written for a piece of output."""

    def interrupt(self) -> bytes:
        """Return what ends a line that is open, before somebody else writes."""


class Place:
    """Where several threads write lines.

    `with place:` is a turn for words that are not the job's, the agent's own among them.

    Args:
        form: how lines look here.
        put: writes bytes of a stream, `o` or `e`; an OSError is nobody's concern.
    """

    def __init__(self, form: Form, put: Callable[[str, bytes], object]) -> None:
        self._form = form
        self._put = put
        self._lock = threading.RLock()
        self._last = "e"  # the stream that was written to last

    def show(self, records: Iterable[Record]) -> None:
        """Write pieces of output, as few times as order allows."""
        with self._lock:
            pieces: list[bytes] = []
            for record in records:
                if record.stream != self._last:
                    self._write(b"".join(pieces))
                    pieces.clear()
                    self._last = record.stream
                pieces.append(self._form.show(record))
            self._write(b"".join(pieces))

    def end(self) -> None:
        """End the line that is open."""
        with self:
            pass

    def __enter__(self) -> None:
        self._lock.acquire()
        self._write(self._form.interrupt())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def _write(self, data: bytes) -> None:
        if data:
            with contextlib.suppress(OSError, ValueError):  # nobody reads, or a full disk
                self._put(self._last, data)


def put(stream: str, data: bytes) -> None:
    """Write lines to our own stdout or stderr, each whole as far as they fit into a pipe's piece.

    Raises:
        OSError: nobody reads any more.
    """
    at = 0
    while at < len(data):
        end = len(data)
        if end - at > _WHOLE:
            end = data.rfind(b"\n", at, at + _WHOLE) + 1 or data.find(b"\n", at) + 1 or end
        write(_FDS[stream], data[at:end])
        at = end


def one_file() -> bool:
    """Tell whether our stdout and stderr are the same: a terminal, or `2>&1`."""
    try:
        out, err = os.fstat(1), os.fstat(2)
    except OSError:
        return False
    return (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)
