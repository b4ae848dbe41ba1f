"""The workers and the ranks of a job as rows: those in trouble first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.text import Text

from mpiboot.report.terminal import amounts
from mpiboot.report.terminal.document import Failure, Gpu, Job, Rank, Worker
from mpiboot.report.terminal.grid import Column, Page, Row, grid

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)

_COLUMNS = (
    Column(title="HOST", lead=True, names=True, most=40),
    Column(title="STATE", lead=True),
    Column(title="LEASE", lead=True, worth=4),
    Column(title="HEARD", lead=True, right=True, worth=1),
    Column(title="SLOTS", right=True, worth=5),
    Column(title="RANKS", right=True, worth=7),
    Column(title="CPU", right=True, worth=9),
    Column(title="MEMORY", right=True, worth=8),
    Column(title="GPU", right=True, worth=6),
    Column(title="MPI", most=24, worth=2),
)
_OF_RANKS = (
    Column(title="RANK", lead=True, right=True),
    Column(title="HOST", lead=True, names=True, most=40),
    Column(title="STATE", lead=True),
    Column(title="CPU", right=True, worth=2),
    Column(title="MEMORY", right=True, worth=1),
)
_BAD, _BUSY, _WAITS, _CALM = "bold red", "green", "yellow", "dim"
_PHASES = {"Running": _BUSY, "Succeeded": _BUSY, "Failed": _BAD, "Unknown": _WAITS}
_URGENT = ("failed", "running", "ended")
_LATE = 1 << 60  # behind all causes that are told
_STATES = {"failed": _BAD, "running": _BUSY, "ended": _CALM}


def worker_lines(job: Job, page: Page, room: int | None) -> list[Text]:
    """Lay out the workers.

    Args:
        job: the job.
        page: what there is to draw on.
        room: how many lines at most; None: all workers.
    """
    causes = _order(failure.host for failure in _failures(job))
    ordered = sorted(job.workers, key=lambda one: (_trouble(one), causes.get(one.name, _LATE)))
    shown, more = _that_fit(ordered, room)
    if not shown:
        return []
    lines = grid(page, _COLUMNS, [_worker(one) for one in shown])
    return [*lines, page.line(f"and {more:,} more", "dim")] if more else lines


def rank_lines(job: Job, page: Page, room: int) -> list[Text]:
    """Lay out the ranks: those that failed first; as many lines as there is room for at most."""
    causes = _order(failure.rank for failure in _failures(job))

    def urgency(one: tuple[Worker, Rank]) -> tuple[int, int, int]:
        _, rank = one
        state = _URGENT.index(rank.state) if rank.state in _URGENT else len(_URGENT)
        return (state, causes.get(rank.rank, _LATE), rank.rank)

    shown, more = _that_fit(sorted(_ranks(job), key=urgency), room)
    if not shown:
        return []
    lines = grid(page, _OF_RANKS, [_rank(worker, rank) for worker, rank in shown])
    return [*lines, page.line(f"and {more:,} more", "dim")] if more else lines


def rank_count(job: Job) -> int:
    """Count the ranks that are worth a row."""
    return sum(1 for _ in _ranks(job))


def _ranks(job: Job) -> Iterator[tuple[Worker, Rank]]:
    """Yield the ranks that are worth a row: when all is over, those that failed."""
    every = [(worker, rank) for worker in job.workers for rank in worker.ranks]
    over = job.ended or all(rank.state != "running" for _, rank in every)
    return (one for one in every if not over or one[1].state == "failed")


def _failures(job: Job) -> Sequence[Failure]:
    return job.outcome.failures if job.outcome is not None else ()


def _order(named: Iterable[_K]) -> dict[_K, int]:
    """Return the place of each: the first cause stands first, and others fell with it."""
    return {one: at for at, one in enumerate(dict.fromkeys(named))}


def _that_fit(ordered: Sequence[_T], room: int | None) -> tuple[Sequence[_T], int]:
    """Return what has room below a heading, and how many have not; a line says so."""
    if room is None or len(ordered) < room:
        return ordered, 0
    shown = ordered[: max(0, room - 2)]
    return shown, len(ordered) - len(shown)


def _trouble(one: Worker) -> int:
    """Tell how much trouble a worker makes; the least number comes first."""
    if one.phase == "Failed":
        return 0
    if one.lease == "lost" or one.phase == "Unknown":
        return 1
    return 2 if not one.ready and one.phase != "Succeeded" else 3


def _worker(one: Worker) -> Row:
    bad = _trouble(one) < 3
    waits = one.phase in ("Pending", "")
    state = one.state or one.phase.lower() if waits else one.phase.lower()
    style = (_BUSY if one.ready else _WAITS) if waits else _PHASES.get(one.phase, "")
    lease_style = _BAD if one.lease == "lost" else _CALM
    cells = (
        one.name,
        state or amounts.NOTHING,
        one.lease if one.lease != "none" else amounts.NOTHING,
        amounts.whole_seconds(one.heartbeat_age_s),
        amounts.number(one.slots),
        _standing(one.ranks),
        _cpu(one),
        _memory(one),
        _gpu(one.gpus),
        one.mpi,
    )
    # What is said of it may begin with the state, which stands beside.
    text = (one.reason or one.detail).removeprefix(state).strip() or " "
    return Row(cells=cells, styles=("", style, lease_style, _CALM), text=text if bad else "")


def _standing(ranks: Sequence[Rank]) -> str:
    """Say how the ranks of a worker stand: `4`, or `3 of 4` where only three of them run."""
    if not ranks:
        return amounts.NOTHING
    states = Counter(rank.state for rank in ranks)
    running = states["running"]
    if running == len(ranks):
        return str(running)
    if states["failed"]:
        return f"{states['failed']} failed"
    return f"{running} of {len(ranks)}" if running else f"{len(ranks)} ended"


def _cpu(one: Worker) -> str:
    if one.cpu_percent is None or one.cpus is None:
        return amounts.percent(one.cpu_percent)
    return f"{one.cpu_percent:.0f} of {one.cpus * 100:.0f} %"


def _memory(one: Worker) -> str:
    used = amounts.size(one.memory_bytes)
    if one.memory_bytes is None or one.memory_limit_bytes is None:
        return used
    return f"{used} of {amounts.size(one.memory_limit_bytes)}"


def _gpu(gpus: Sequence[Gpu]) -> str:
    if not gpus:
        return amounts.NOTHING
    busy = [gpu.busy_percent for gpu in gpus if gpu.busy_percent is not None]
    share = f" at {sum(busy) / len(busy):.0f} %" if busy else ""
    return f"{len(gpus)}{share}"


def _rank(worker: Worker, rank: Rank) -> Row:
    how = rank.state
    if rank.state == "failed":
        how += f", signal {rank.signal}" if rank.signal else f", exit {rank.code}"
    cells = (
        str(rank.rank),
        worker.name,
        how,
        amounts.percent(rank.cpu_percent),
        amounts.size(rank.memory_bytes),
    )
    return Row(cells=cells, styles=("", "", _STATES.get(rank.state, "")))


def total(values: Iterable[float | None]) -> float | None:
    """Add up what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
