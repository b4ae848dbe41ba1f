"""A job as lines: how it stands, how long each stage took, how it ended, its workers and ranks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from mpiboot.model import counting
from mpiboot.report.terminal import amounts, workers
from mpiboot.report.terminal.document import Job, Outcome
from mpiboot.report.terminal.grid import Page

_PHASES = {
    "Running": "bold green",
    "Succeeded": "bold green",
    "Failed": "bold red",
    "Pending": "bold yellow",
    "Paused": "bold yellow",
    "Resuming": "bold yellow",
    "Unknown": "bold yellow",
}
_WIDEST = 120  # what stands at the right end of a line does not stand further out
_LOW = 14  # on a screen of fewer lines the workers have room, the story has not
_MOST_RANKS = 64  # that are listed where there is all the room
_MOST_CAUSES, _MOST_STDERR = 4, 8
_ALONE = (
    "Only what this worker knows of itself: no launcher holds it, or the launcher does not answer."
)


def whole(job: Job, page: Page) -> list[Text]:
    """Lay out all of a job, as long as that is; of the ranks the first ones, failed ones first."""
    ranks = workers.rank_lines(job, page, _MOST_RANKS + 2)
    parts = (head(job, page), workers.worker_lines(job, page, None), ranks)
    return _joined([part for part in parts if part])


def fitting(job: Job, page: Page, note: str = "") -> list[Text]:
    """Lay out as much of a job as the page has lines for, those in trouble first.

    Args:
        job: the job.
        page: what there is to draw on.
        note: the last line, where there is room.
    """
    low = page.height < _LOW
    story = head(job, page, low=low)
    tail = [page.line(note, "dim")] if note and not low else []
    gap = 0 if low else 1
    room = page.height - len(story) - len(tail) - gap - (gap if tail else 0)
    count = workers.rank_count(job)
    wanted = len(job.workers) + 1
    for_ranks = min(count + 1, max(room - wanted - gap, room // 3)) if count else 0
    for_ranks = for_ranks if for_ranks >= 3 else 0
    for_workers = room - (for_ranks + gap if for_ranks else 0)
    parts = [story, workers.worker_lines(job, page, max(0, for_workers))]
    parts.append(workers.rank_lines(job, page, for_ranks))
    parts.append(tail)
    made = _joined([part for part in parts if part], gap)
    return made[: page.height]


def sentence(job: Job, page: Page, *, used: bool = True) -> str:
    """Say in one line how a job stands, or how it ended.

    Args:
        job: the job.
        page: where the line will stand; its width does not matter.
        used: whether CPU and memory belong to it, which change all the time.
    """
    if job.outcome is not None:
        message = job.outcome.message.partition("\n")[0]
        return page.literal(f"{job.phase}: exit {job.outcome.code}: {message}")
    stage = f", {job.stage}" if job.stage and job.stage != job.phase.lower() else ""
    return page.literal(f"{job.phase or 'Unknown'}{stage}: {', '.join(counted(job, used=used))}")


def _joined(parts: Sequence[Sequence[Text]], gap: int = 1) -> list[Text]:
    lines: list[Text] = []
    for part in parts:
        lines += [Text("", end="")] * (gap if lines else 0)
        lines += part
    return lines


def head(job: Job, page: Page, *, low: bool = False) -> list[Text]:
    """Lay out how a job stands as a whole, and how it ended.

    Args:
        job: the job.
        page: what there is to draw on.
        low: whether there is room for the most important lines alone.
    """
    lines = [_title(job, page)]
    if not low and job.command:
        lines.append(page.line(shlex.join(job.command), "dim"))
    if not low:
        lines += _stages(job, page)
    lines += _counts(job, page, low=low)
    if len(job.attempts) > 1 and not low:
        lines.append(_attempts(job, page))
    if not job.complete and not job.ended:
        lines += _wrapped(page, _ALONE, "yellow")[: 1 if low else None]
    if job.outcome is not None:
        lines += _ended(job.outcome, page, low=low)
    return lines


def _title(job: Job, page: Page) -> Text:
    line = page.line(job.sender or "this container", "bold")
    plain = job.outcome is not None or job.stage in (job.phase.lower(), "ended", "")
    stage = "" if plain else job.stage
    how = page.literal(f"{job.phase or 'Unknown'}{f', {stage}' if stage else ''}")
    left = page.width - cell_len(line.plain) - 2
    if left < min(len(how), 9):
        line = page.line("", "")
        line.append(page.clipped(how), style=_PHASES.get(job.phase, "bold"))
        return line
    line.append("  ").append(page.clipped(how, left), style=_PHASES.get(job.phase, "bold"))
    version = page.literal(f"mpiboot {job.version}") if job.version else ""
    space = min(page.width, _WIDEST) - cell_len(line.plain) - cell_len(version)
    if version and space >= 2:
        line.append(" " * space + version, style="dim")
    return line


def _stages(job: Job, page: Page) -> list[Text]:
    """Lay out the timeline: each stage with how long it took."""
    told = []
    for stage, lasted in job.seconds:
        if stage == "ended":  # that lasts
            continue
        now = stage == job.stage
        shown = amounts.whole_seconds(lasted) if now and lasted >= 1 else amounts.seconds(lasted)
        of = f" of {amounts.whole_seconds(job.deadline_s)}" if now and stage == "waiting" else ""
        told.append(f"{stage} {shown}{of if job.deadline_s else ''}")
    if job.ended_at:
        told.append(f"ended {job.ended_at}")
    return _packed(page, told, " → " if page.unicode else " > ")


def _counts(job: Job, page: Page, *, low: bool) -> list[Text]:
    """Say how many there are of everything, and what they use together."""
    return _packed(page, counted(job))[: 1 if low else None]


def counted(job: Job, *, used: bool = True) -> list[str]:
    """Count workers, slots and ranks, and say what they use together.

    Args:
        job: the job.
        used: whether CPU and memory belong to it, which change all the time.
    """
    ready = sum(worker.ready for worker in job.workers)
    expected = job.expected if job.expected is not None else len(job.workers) or None
    told = []
    if job.complete and not job.ended:
        told.append(f"{ready:,} of {counting.counted(expected, 'worker', form=',')} ready")
    slots = workers.total(worker.slots for worker in job.workers)
    told += [counting.counted(slots, "slot", form=",.0f")] if slots else []
    if job.ranks is not None and job.ranks[1]:
        wanted, started, ended = job.ranks
        run = (
            f"{started - ended:,} of {counting.counted(max(wanted, started), 'rank', form=',')} run"
        )
        told.append(
            run if started > ended else f"{counting.counted(ended, 'rank', form=',')} ended"
        )
    used = used and not job.ended
    cpu = workers.total(worker.cpu_percent for worker in job.workers)
    memory = workers.total(worker.memory_bytes for worker in job.workers)
    told += [f"CPU {cpu:,.0f} %"] if cpu is not None and used else []
    told += [f"memory {amounts.size(memory)}"] if memory is not None and used else []
    return told


def _packed(page: Page, told: Sequence[str], between: str = ", ") -> list[Text]:
    """Put as many pieces into each line as it has room for, so that none is broken."""
    lines: list[str] = []
    for piece in told:
        longer = f"{lines[-1]}{between}{piece}" if lines else ""
        if lines and len(longer) <= page.width:
            lines[-1] = longer
        else:
            lines.append(piece)
    return [page.line(line) for line in lines]


def _attempts(job: Job, page: Page) -> Text:
    last = job.attempts[-1]
    before = job.attempts[-2]
    how = f"{before.code}" + (f", {before.message}" if before.message else "")
    return page.line(
        f"attempt {last.number} ({last.kind}); the one before ended with {how}", "yellow"
    )


def _ended(outcome: Outcome, page: Page, *, low: bool) -> list[Text]:
    """Say how it ended: the first cause first, with what that rank wrote to stderr last."""
    good = outcome.code == 0
    blame = f" ({outcome.fault})" if outcome.fault not in ("", "none") else ""
    style = "bold green" if good else "bold red"
    message = outcome.message.partition("\n")[0]  # a table of the hosts may follow
    lines = _wrapped(page, f"exit {outcome.code}{blame}: {message}", style)
    if low:
        return lines[:2]
    first = outcome.failures[0] if outcome.failures else None
    for failure in outcome.failures[:_MOST_CAUSES]:
        if failure.message != outcome.message:
            lines.append(page.line(f"  {failure.message}"))
        if failure is first:
            lines += [page.line(f"  | {said}", "dim") for said in first.stderr[-_MOST_STDERR:]]
    more = len(outcome.failures) - _MOST_CAUSES
    return (
        [*lines, page.line(f"  and {counting.counted(more, 'more failure', form=',')}", "dim")]
        if more > 0
        else lines
    )


def _wrapped(page: Page, said: str, style: str) -> list[Text]:
    """Break one important sentence at its words, so that none of it is lost; four lines at most."""
    lines, line = [], ""
    for word in page.literal(said).split():
        longer = f"{line} {word}" if line else word
        if line and cell_len(longer) > page.width:
            lines.append(line)
            longer = word
        line = longer
    return [page.line(one, style) for one in [*lines, line][:4]]
