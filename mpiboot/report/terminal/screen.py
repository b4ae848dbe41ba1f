"""Whether a stream is drawn to, and the console that lays out what is drawn."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_LEAST_WIDTH, _LEAST_HEIGHT = 20, 5  # a terminal that says less does not know its size
_LARGEST = 1000


def moves(stream: TextIO, env: Mapping[str, str]) -> bool:
    """Tell whether a stream is a terminal whose cursor can be moved."""
    return stream.isatty() and not dumb(env)


def dumb(env: Mapping[str, str]) -> bool:
    """Tell whether the environment says that the terminal only knows lines."""
    return env.get("TERM", "").lower() in ("dumb", "unknown")


def size() -> tuple[int, int]:
    """Return columns and lines: what COLUMNS and LINES say, what the terminal says, or 80 by 24."""
    columns, lines = shutil.get_terminal_size((80, 24))
    return bounded(columns, lines)


def bounded(columns: int, lines: int) -> tuple[int, int]:
    """Keep a size within what can be laid out."""
    return (
        min(max(columns, _LEAST_WIDTH), _LARGEST),
        min(max(lines, _LEAST_HEIGHT), _LARGEST),
    )


def unicode_fits(stream: TextIO) -> bool:
    """Tell whether a stream takes any character; else lines and marks are ASCII."""
    return (stream.encoding or "").lower().replace("_", "-").startswith(("utf-8", "utf8"))


def console(
    stream: TextIO, env: Mapping[str, str], *, columns: int, lines: int, drawn: bool
) -> Console:
    """Make a console that takes every text literally.

    Args:
        stream: where it writes.
        env: the environment; NO_COLOR that is not empty takes the colours away.
        columns: width.
        lines: height.
        drawn: whether colours and cursor movements may be used at all.
    """
    from rich.console import Console  # noqa: PLC0415 - who draws nothing needs none of it

    made = Console(
        file=stream, force_terminal=drawn, width=columns, height=lines, markup=False, emoji=False,
        highlight=False, safe_box=True, legacy_windows=False, soft_wrap=False, _environ=env,
    )  # fmt: skip
    if env.get("NO_COLOR") or dumb(env):
        made.no_color = True
    return made
