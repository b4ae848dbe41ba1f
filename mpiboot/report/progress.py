"""A progress bar for the wait, on a terminal only."""

from __future__ import annotations

import shutil
import sys

_WIDTH = 24


class Bar:
    """One line on stderr that is drawn over itself.

    Args:
        wanted: `on`, `off`, or `auto` for "when stderr is a terminal".
    """

    def __init__(self, wanted: str) -> None:
        self.shown = wanted == "on" or (wanted == "auto" and sys.stderr.isatty())
        self._drawn = ""

    def draw(self, ready: int, expected: int | None, text: str) -> None:
        """Draw the state of the wait."""
        if not self.shown:
            return
        share = ready / expected if expected else 0.0
        filled = min(_WIDTH, int(share * _WIDTH))
        line = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {text}"
        line = line[: shutil.get_terminal_size().columns - 1]
        if line != self._drawn:
            self._drawn = line
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, so that others can write."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
