"""The whole screen of a terminal, drawn anew; what was on it comes back afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TextIO

from rich.text import Text

from mpiboot.report.terminal import screen
from mpiboot.report.terminal.grid import Page

_ENTER = "\x1b[?1049h\x1b[?25l"  # the alternate screen, without a cursor
_LEAVE = "\x1b[?25h\x1b[?1049l"


class FullScreen:
    """Draws on the alternate screen, one frame in one piece.

    Args:
        stream: the terminal.
        env: the environment.
        lay_out: returns the lines for a page; is asked again when the window's size changes.
    """

    def __init__(
        self, stream: TextIO, env: Mapping[str, str], lay_out: Callable[[Page], list[Text]]
    ) -> None:
        self._stream = stream
        self._env = env
        self._lay_out = lay_out
        self._there = False

    def draw(self) -> None:
        """Draw what there is now."""
        columns, height = screen.size(self._stream, self._env)
        page = screen.page(self._stream, self._env, columns=columns, height=height)
        lines = screen.rendered(self._lay_out(page)[:height], self._stream, self._env, page)
        # Each line is erased before it is written: after a full one that would take its last cell.
        frame = "\r\n".join(f"\x1b[2K{line}" for line in lines)
        below = "\r\n\x1b[J" if len(lines) < height else ""
        enter = "" if self._there else _ENTER
        self._there = True
        self._stream.write(f"{enter}\x1b[H{frame}{below}")
        self._stream.flush()

    def close(self) -> None:
        """Give the screen back."""
        if self._there:
            self._there = False
            self._stream.write(_LEAVE)
            self._stream.flush()
