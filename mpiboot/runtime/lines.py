"""Read a child's pipe line by line inside the loop, whatever it writes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import IO

_CHUNK = 65536
# A line that is longer is given in pieces.
MOST_LINE = 128 * 1024


class Lines:
    """Gives each line of a pipe to a callback, without its end.

    Args:
        pipe: where a child writes.
        on_line: is given each line; the last one may have had no end.
    """

    def __init__(self, pipe: IO[bytes] | None, on_line: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._pipe = pipe
        self._on_line = on_line
        self._rest = b""
        self.ended: asyncio.Future[None] = self._loop.create_future()
        if pipe is None:
            self.ended.set_result(None)
            return
        os.set_blocking(pipe.fileno(), False)
        self._loop.add_reader(pipe.fileno(), self._read)

    def _read(self) -> None:
        if self._pipe is None:
            return
        try:
            chunk = os.read(self._pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self.close()
            return
        *lines, rest = (self._rest + chunk).split(b"\n")
        if len(rest) > MOST_LINE:
            lines, rest = [*lines, rest], b""
        self._rest = rest
        for line in lines:
            self._on_line(line)

    def close(self) -> None:
        """Give what is left, and read no more."""
        if self._pipe is None:
            return
        self._loop.remove_reader(self._pipe.fileno())
        self._pipe.close()
        self._pipe = None
        if self._rest:
            self._on_line(self._rest)
        if not self.ended.done():
            self.ended.set_result(None)
