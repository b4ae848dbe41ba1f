"""Texts of other machines as they may stand on a screen: no character moves the cursor or the row."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len

_WIDE = ("W", "F")
_CUT, _PLAIN_CUT = "…", "~"


def literal(said: str, *, unicode: bool) -> str:
    r"""Write out what a terminal would act on, or whose width terminals do not agree on.

    Control characters, escape sequences, marks of writing direction, combining and joining
    characters stand there as `\x1b`, `\u202e` and so on; a tab is a space.

    Args:
        said: any text.
        unicode: whether the stream takes more than ASCII.
    """
    if said.isascii() and said.isprintable():
        return said
    return "".join(c if _plain(c, unicode=unicode) else _escaped(c) for c in said)


def _plain(c: str, *, unicode: bool) -> bool:
    if c.isascii():
        return c.isprintable()
    if not (unicode and c.isprintable()) or unicodedata.category(c) in ("Mn", "Me", "Mc", "Sk"):
        return False
    if c >= "\U00010000" and unicodedata.category(c) == "So":  # emoji, which may melt into one
        return False
    return cell_len(c) == (2 if unicodedata.east_asian_width(c) in _WIDE else 1)


def _escaped(c: str) -> str:
    return " " if c == "\t" else c.encode("unicode_escape", "replace").decode("ascii")


def clipped(text: str, width: int, *, unicode: bool) -> str:
    """Cut a literal text to so many cells; a mark stands where something is missing."""
    if width <= 0:
        return ""
    if len(text) <= width and text.isascii():
        return text
    if cell_len(text) <= width:
        return text
    kept, cells = [], 1
    for c in text:
        cells += cell_len(c)
        if cells > width:
            break
        kept.append(c)
    return "".join(kept).rstrip() + (_CUT if unicode else _PLAIN_CUT)


def named(text: str, width: int, *, unicode: bool) -> str:
    """Cut a literal name to so many cells in its middle: names of one job differ at their ends."""
    if cell_len(text) <= width or width < 5:
        return clipped(text, width, unicode=unicode)
    tail, cells = [], 0
    for c in reversed(text):
        cells += cell_len(c)
        if cells > (width - 1) // 2:
            break
        tail.append(c)
    end = "".join(reversed(tail))
    return clipped(text, width - cell_len(end), unicode=unicode) + end
