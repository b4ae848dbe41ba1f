"""A few lines at the lower end of a terminal that are drawn anew, while others write above them."""

from __future__ import annotations

import select
import threading
from collections.abc import Sequence
from typing import TextIO


class Region:
    """Lines that are taken away and drawn again in one piece, so that nothing tears.

    Between two drawings the cursor stands where they begin. Whoever writes to the terminal past us
    (another process of the job) writes over the first of them and goes on from there; the next
    drawing begins below. A terminal that becomes narrower wraps the lines, and keeps their beginning.

    Args:
        stream: a terminal, or whatever shall have the sequences of one.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.RLock()  # who logs may be another thread
        self._lines: list[str] = []
        self._rest = ""

    def draw(self, lines: Sequence[str]) -> None:
        """Draw these lines in place of those that are there; not where that would have to wait.

        A user may have stopped the output, or what reads it may be slow: who draws has more to do.

        Args:
            lines: with their colours, without line ends; none wider than the terminal.
        """
        with self._lock:
            if not self._takes():
                return
            erased = self._erased()
            self._lines = list(lines)
            self._write(erased + self._drawn())

    def above(self, text: str) -> None:
        """Write whole lines of somebody else above; what has no end yet waits for it."""
        with self._lock:
            whole, end, self._rest = (self._rest + text).rpartition("\n")
            if end:
                said = whole.replace("\r\n", "\n").replace("\n", "\r\n") + "\r\n"
                self._write(self._erased() + said + self._drawn())

    def clear(self) -> None:
        """Take the lines away."""
        with self._lock:
            self._write(self._erased() + self._rest)
            self._lines, self._rest = [], ""

    def _takes(self) -> bool:
        """Tell whether the stream takes something at once; one without a descriptor always does."""
        try:
            asked = select.poll()
            asked.register(self._stream.fileno(), select.POLLOUT)
        except (OSError, ValueError):
            return True
        return bool(asked.poll(0))

    def _erased(self) -> str:
        return "\r\x1b[J" if self._lines else ""

    def _drawn(self) -> str:
        up = f"\x1b[{len(self._lines) - 1}A" if len(self._lines) > 1 else ""
        return "\r\n".join(self._lines) + f"\r{up}"

    def _write(self, text: str) -> None:
        if text:
            self._stream.write(text)
            self._stream.flush()


class Above:
    """A stream for the agent's log while a region is drawn."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def write(self, text: str) -> int:
        """Write above the region."""
        self._region.above(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: each line was written at once."""
