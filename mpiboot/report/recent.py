"""The last lines that a job wrote to stderr, as people may read them on a page."""

from __future__ import annotations

import re
import threading
from collections import deque

from mpiboot.model.fields import printable

LINES = 50
_LONGEST = 500  # characters of one line
_MOST = 4096  # bytes of a line that has not ended
_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")


class Recent:
    """Keeps the last lines of what several threads write.

    A bar that draws itself anew by carriage returns is one line, as it was drawn last.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: deque[str] = deque(maxlen=LINES)
        self._rest = b""

    def write(self, data: bytes) -> None:
        """Append what was shown."""
        with self._lock:
            *whole, rest = (self._rest + data).split(b"\n")
            self._lines.extend(_readable(line) for line in whole[-LINES:])
            self._rest = rest[-_MOST:]

    def lines(self) -> list[str]:
        """Return the lines, oldest first; one that has not ended counts."""
        with self._lock:
            rest = _readable(self._rest)
            return [*self._lines, *([rest] if rest else [])][-LINES:]


def _readable(line: bytes) -> str:
    text = _ESCAPES.sub("", line.decode(errors="replace")).rstrip("\r")
    text = text.rpartition("\r")[2].replace("\t", "    ")
    return printable(text[:_LONGEST])
