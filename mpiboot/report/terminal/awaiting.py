"""The wait for workers as lines: how far it is, then who is missing and why, then who is there."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from mpiboot.model.record import dataclass
from mpiboot.plan.awaited import Trouble, trouble
from mpiboot.plan.gather import Seen
from mpiboot.report.terminal import amounts
from mpiboot.report.terminal.grid import Column, Page, Row, grid

_WIDEST = 120  # what stands at the right end of a line does not stand further out
_LOW = 8  # on a screen of fewer lines hosts have the room of the bar, and of the blank line
_STYLES = {
    Trouble.FAULT: "bold red",
    Trouble.UNREACHED: "yellow",
    Trouble.UNTRIED: "dim",
    Trouble.NONE: "green",
}
_COLUMNS = (
    Column(title="HOST", lead=True, names=True, most=40),
    Column(title="STATE", lead=True),
    Column(title="SINCE", lead=True, right=True, worth=9),
    Column(title="SLOTS", right=True, worth=8),
    Column(title="CPUS", right=True, worth=7),
    Column(title="MEMORY", right=True, worth=6),
    Column(title="GPUS", right=True, worth=5),
    Column(title="MPI", most=24, worth=4),
)


@dataclass(frozen=True, kw_only=True)
class Awaited:
    """One host that has a row.

    Attributes:
        seen: what was last seen of it.
        slots: how many ranks it may take; None: not known yet.
    """

    seen: Seen
    slots: int | None


@dataclass(frozen=True, kw_only=True)
class Wait:
    """How far a wait is.

    Attributes:
        ready: how many workers are ready.
        expected: how many are awaited; None: not known yet.
        known: how many hosts are known.
        waited_s: seconds so far.
        deadline_s: seconds after which it fails.
        answer: what a name that is enumerated answers; empty for a list.
        rows: the hosts that are shown, in order.
    """

    ready: int
    expected: int | None
    known: int
    waited_s: float
    deadline_s: float
    answer: str = ""
    rows: Sequence[Awaited] = ()


def lines(wait: Wait, page: Page) -> list[Text]:
    """Lay out a wait; as many lines as the page has at most."""
    made = [_title(wait, page)]
    if page.height >= _LOW:
        made = [page.line(""), *made, _bar(wait, page)]
    if wait.answer:
        made.append(page.line(wait.answer, "yellow"))
    room = page.height - len(made) - 1
    shown = wait.rows if len(wait.rows) <= room and wait.known <= room else wait.rows[: room - 1]
    if shown:
        made += grid(page, _COLUMNS, [_row(one, wait.waited_s) for one in shown])
    more = wait.known - len(shown)
    if more > 0:
        made.append(page.line(f"and {more:,} more", "dim"))
    return made[: page.height]


def _title(wait: Wait, page: Page) -> Text:
    count = "?" if wait.expected is None else f"{wait.expected:,}"
    left = f"Waiting for workers: {wait.ready:,} of {count} ready"
    time = amounts.whole_seconds(wait.waited_s)
    right = f"{time} of {amounts.whole_seconds(wait.deadline_s)}"
    if len(left) + len(right) + 2 > page.width:
        left = f"ready {wait.ready:,}/{count}"
    if len(left) + len(right) + 2 > page.width:
        right = time
    title = page.line(left, "bold")
    space = min(page.width, _WIDEST) - cell_len(title.plain) - len(right)
    if space >= 1:
        title.append(" " * space + right, style="dim")
    return title


def _bar(wait: Wait, page: Page) -> Text:
    full, empty = ("━", "━") if page.unicode else ("=", "-")
    width = min(page.width, _WIDEST)
    share = min(1.0, wait.ready / wait.expected) if wait.expected else 0.0
    filled = int(share * width)
    bar = Text(full * filled, style="green", no_wrap=True, end="")
    return bar.append(empty * (width - filled), style="bright_black")


def _row(one: Awaited, waited_s: float) -> Row:
    seen, facts = one.seen, one.seen.facts
    level = trouble(seen.reach)
    cells = (
        seen.host.name,
        seen.reach.value,
        amounts.whole_seconds(max(0.0, waited_s - seen.since_s)),
        amounts.number(one.slots),
        amounts.number(facts.cpus or None if facts else None),
        amounts.size(facts.memory_bytes or None if facts else None),
        amounts.number(facts.gpus or None if facts else None),
        facts.mpi if facts else "",
    )
    text = "" if seen.reach.ready else seen.detail or " "
    styles = ("", _STYLES[level], "dim")
    return Row(cells=cells, styles=styles, text=text, style="" if seen.reach.ready else "dim")
