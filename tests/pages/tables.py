"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Render a table; what is in a cell stays in it."""
    lines = [_row(head), "|---" * len(head) + "|", *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(one.replace('|', chr(92) + '|') for one in cells)} |"


def code(text: str) -> str:
    """Show a text as it is written; nothing where there is none."""
    return f"`{text.strip()}`" if text.strip() else ""
