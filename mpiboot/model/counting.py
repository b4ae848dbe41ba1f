"""Numbers of things as people say them: one slot, two slots."""

from __future__ import annotations


def counted(number: float | None, one: str, several: str = "", *, form: str = "") -> str:
    """Return `1 slot`, `2 slots`, `1 process was`, `1.5 CPUs`, `? workers`.

    Args:
        number: how many there are; None: that is not known.
        one: what a single one is called, with its verb if that changes, too.
        several: what any other number of them is called; else `one` with an s.
        form: how the number is written, as in an f-string.
    """
    shown = "?" if number is None else f"{number:{form}}"
    return f"{shown} {one if number == 1 else several or f'{one}s'}"
