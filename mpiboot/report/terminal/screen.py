"""Whether a stream is drawn to, how large it is, and the console that turns lines into its text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from mpiboot.report.terminal.grid import Page

_LEAST_WIDTH, _LEAST_HEIGHT = 10, 4  # a terminal that says less does not know its size
_LARGEST = 1000
_USUAL = (80, 24)
_LOCALES = ("LC_ALL", "LC_CTYPE", "LANG")
_COERCED = ("c.utf-8", "c.utf8", "utf-8")


def dumb(env: Mapping[str, str]) -> bool:
    """Tell whether the environment says that the terminal only knows lines."""
    return env.get("TERM", "").lower() in ("dumb", "unknown")


def moves(stream: TextIO, env: Mapping[str, str]) -> bool:
    """Tell whether a stream is a terminal whose cursor can be moved."""
    return stream.isatty() and not dumb(env)


def size(stream: TextIO, env: Mapping[str, str]) -> tuple[int, int]:
    """Return columns and lines: what COLUMNS and LINES say, else the terminal, else 80 by 24."""
    try:
        told = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        told = os.terminal_size((0, 0))
    columns = _whole(env, "COLUMNS") or told.columns or _USUAL[0]
    lines = _whole(env, "LINES") or told.lines or _USUAL[1]
    return min(max(columns, _LEAST_WIDTH), _LARGEST), min(max(lines, _LEAST_HEIGHT), _LARGEST)


def _whole(env: Mapping[str, str], name: str) -> int:
    said = env.get(name, "")
    return int(said[:6]) if said.isascii() and said.isdigit() else 0


def unicode_fits(stream: TextIO, env: Mapping[str, str]) -> bool:
    """Tell whether a stream takes more than ASCII, by its encoding and by the locale.

    Where the locale is C, Python makes its streams UTF-8 and sets LC_CTYPE (PEP 538); the terminal's
    user has said C all the same. Containers mostly have no locale at all, and terminals that are
    UTF-8: then the encoding decides.
    """
    if not (stream.encoding or "").lower().replace("_", "-").startswith(("utf-8", "utf8")):
        return False
    said = {name: env.get(name, "").lower() for name in _LOCALES}
    if said["LC_CTYPE"] in _COERCED and said["LANG"] in ("c", "posix"):
        del said["LC_CTYPE"]
    locale = next(filter(None, said.values()), "")
    return locale not in ("c", "posix")


def page(stream: TextIO, env: Mapping[str, str], *, columns: int, height: int) -> Page:
    """Say what there is to draw on."""
    from mpiboot.report.terminal.grid import Page  # noqa: PLC0415 - loads rich

    return Page(width=columns, height=height, unicode=unicode_fits(stream, env))


def console(stream: TextIO, env: Mapping[str, str], width: int) -> Console:
    """Make a console that takes every text literally.

    Only a terminal gets styles; with NO_COLOR (no-color.org) they are bold and dim alone.
    """
    from rich.console import Console  # noqa: PLC0415 - who draws nothing needs none of it

    return Console(
        file=stream, force_terminal=moves(stream, env), no_color=bool(env.get("NO_COLOR")),
        width=width, height=_USUAL[1], markup=False, emoji=False, highlight=False,
        legacy_windows=False, _environ=env,
    )  # fmt: skip


def rendered(
    lines: Sequence[Text], stream: TextIO, env: Mapping[str, str], page: Page
) -> list[str]:
    """Turn lines into what a stream is given for them."""
    made = console(stream, env, page.width)
    texts = []
    for line in lines:
        with made.capture() as captured:
            made.print(line, end="", soft_wrap=True)
        texts.append(captured.get())
    return texts
