"""Rows under headings, each exactly one line, in whatever width there is.

A row has a few leading cells and then either figures or one text across all that is left: what went
wrong with a host stands where its figures would, had it any.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from mpiboot.model.record import dataclass
from mpiboot.report.terminal.literal import clipped, literal, named

_GAP = 2
_LEAST_NAME = 24  # cells that names keep while another one can go
_LEAST_TEXT = 12  # cells that a text across the figures wants at least


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column.

    Attributes:
        title: its heading.
        right: whether it is a figure.
        lead: whether it stands before the figures, in every row.
        names: whether it has names, which are cut in their middle; one column has.
        most: cells that it takes at most.
        worth: those worth least go first where the width does not do; those of 0 never.
    """

    title: str
    right: bool = False
    lead: bool = False
    names: bool = False
    most: int = 1000
    worth: int = 0


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row.

    Attributes:
        cells: a text for each column; those of figures are not looked at where there is a text.
        styles: of the leading columns, in rich's words.
        text: stands across the figures; empty: figures do.
        style: of that text, and of the figures.
    """

    cells: tuple[str, ...]
    styles: tuple[str, ...] = ()
    text: str = ""
    style: str = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """What there is to draw on.

    Attributes:
        width: cells of a line.
        height: lines.
        unicode: whether it takes more than ASCII.
    """

    width: int
    height: int
    unicode: bool

    def literal(self, said: str) -> str:
        """Return a text as it may stand here."""
        return literal(said, unicode=self.unicode)

    def clipped(self, text: str, width: int | None = None) -> str:
        """Cut a text to a width, or to that of a line."""
        return clipped(text, self.width if width is None else width, unicode=self.unicode)

    def line(self, text: str, style: str = "") -> Text:
        """Make one line of a text, literally."""
        line = Text(no_wrap=True, end="")  # its style is that of the text, not of what is appended
        return line.append(self.clipped(self.literal(text)), style=style or None)


def grid(page: Page, columns: Sequence[Column], rows: Sequence[Row]) -> list[Text]:
    """Lay out rows under their headings.

    Columns in which no row says anything are left out, then those that are worth least, until all
    fits; names give way last.
    """
    said = [[page.literal(cell) for cell in row.cells] for row in rows]
    used = [
        at
        for at, column in enumerate(columns)
        if column.worth == 0 or any(_says(row, cells[at]) for row, cells in zip(rows, said, strict=True))
    ]  # fmt: skip
    widths = {
        at: min(columns[at].most, max(len(columns[at].title), _widest(rows, said, columns, at)))
        for at in used
    }
    _fit(page.width, columns, widths)
    lines = [_heading(page, columns, widths)]
    lines += [
        _line(page, columns, widths, row, cells) for row, cells in zip(rows, said, strict=True)
    ]
    return lines


def _says(row: Row, cell: str) -> bool:
    return not row.text and cell not in ("", "-")


def _widest(rows: Sequence[Row], said: list[list[str]], columns: Sequence[Column], at: int) -> int:
    lead = columns[at].lead
    return max(
        (
            cell_len(cells[at])
            for row, cells in zip(rows, said, strict=True)
            if lead or not row.text
        ),
        default=0,
    )


def _fit(width: int, columns: Sequence[Column], widths: dict[int, int]) -> None:
    """Leave out columns, and then narrow the names, until they fit into a width."""
    while _total(widths) > width:
        worth = {at: columns[at].worth for at in widths if columns[at].worth}
        over = _total(widths) - width
        names = next(at for at in widths if columns[at].names)
        if over <= widths[names] - _LEAST_NAME or not worth:
            widths[names] = max(1, widths[names] - over)
            break
        del widths[min(worth, key=lambda at: (worth[at], -at))]
    if _total(widths) > width:
        last = max(widths)  # not even a name of one cell leaves room for the next column
        widths[last] = max(0, widths[last] - (_total(widths) - width))


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + _GAP * (len(widths) - 1)


def _heading(page: Page, columns: Sequence[Column], widths: dict[int, int]) -> Text:
    cells = [_padded(page, columns[at], columns[at].title, width) for at, width in widths.items()]
    text = (" " * _GAP).join(cells).rstrip()
    return Text(page.clipped(text), style="dim", no_wrap=True, end="")


def _line(
    page: Page, columns: Sequence[Column], widths: dict[int, int], row: Row, cells: list[str]
) -> Text:
    line = Text(no_wrap=True, end="")
    for at, width in widths.items():
        if row.text and not columns[at].lead:
            break
        style = row.styles[at] if at < len(row.styles) else row.style
        line.append(" " * (_GAP if line.plain else 0))
        line.append(_padded(page, columns[at], cells[at], width), style=style or None)
    if row.text:
        left = page.width - cell_len(line.plain) - _GAP
        if left >= _LEAST_TEXT:
            line.append(" " * _GAP)
            line.append(page.clipped(page.literal(row.text), left), style=row.style or None)
    line.rstrip()
    return line


def _padded(page: Page, column: Column, text: str, width: int) -> str:
    cut = named if column.names else clipped
    text = cut(text, width, unicode=page.unicode)
    space = " " * (width - cell_len(text))
    return space + text if column.right else text + space
