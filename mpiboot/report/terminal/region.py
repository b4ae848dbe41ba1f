"""A few lines at the lower end of a terminal that are drawn anew, while others write above them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TextIO


class Region:
    """Lines that are taken away and drawn again in one piece, so that nothing tears.

    Args:
        stream: a terminal, or whatever shall have the sequences of one.
        columns: tells how wide it is now.
    """

    def __init__(self, stream: TextIO, columns: Callable[[], int]) -> None:
        self._stream = stream
        self._columns = columns
        self._lock = threading.RLock()  # who logs may be another thread
        self._lines: list[str] = []
        self._widths: list[int] = []
        self._rest = ""

    def draw(self, lines: Sequence[str], widths: Sequence[int]) -> None:
        """Draw these lines in place of those that are there.

        Args:
            lines: with their colours, without line ends.
            widths: cells of each.
        """
        with self._lock:
            erased = self._erased()
            self._lines, self._widths = list(lines), list(widths)
            self._write(erased + self._drawn())

    def above(self, text: str) -> None:
        """Write whole lines of somebody else above; what has no end yet waits for it."""
        with self._lock:
            whole, end, self._rest = (self._rest + text).rpartition("\n")
            if end:
                said = whole.replace("\r\n", "\n").replace("\n", "\r\n") + "\r\n"
                self._write(self._erased() + said + self._drawn())

    def clear(self) -> None:
        """Take the lines away, and leave the cursor where they began."""
        with self._lock:
            self._write(self._erased() + self._rest)
            self._lines, self._widths, self._rest = [], [], ""

    def _erased(self) -> str:
        if not self._lines:
            return ""
        columns = max(1, self._columns())  # a terminal that became narrower has wrapped them
        rows = sum(max(1, -(-width // columns)) for width in self._widths)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return f"\r{up}\x1b[J"

    def _drawn(self) -> str:
        return "\r\n".join(self._lines)

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
