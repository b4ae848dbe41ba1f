"""Read the view document: whatever stands in it came from other machines, and may be anything."""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.model.record import dataclass
from mpiboot.report.terminal import reading
from mpiboot.report.terminal.reading import Data

_MOST_WORDS, _MOST_STDERR = 1000, 20


@dataclass(frozen=True, kw_only=True)
class Rank:
    """One rank; what it uses is None where nobody has said."""

    rank: int
    state: str
    code: int | None
    signal: int | None
    cpu_percent: float | None
    memory_bytes: float | None


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU of a worker."""

    busy_percent: float | None
    memory_bytes: float | None


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One worker; figures are None and texts empty where nobody has said."""

    name: str
    phase: str
    reason: str
    state: str
    ready: bool
    detail: str
    since_s: float | None
    slots: int | None
    lease: str
    heartbeat_age_s: float | None
    cpus: float | None
    cpu_percent: float | None
    memory_bytes: float | None
    memory_limit_bytes: float | None
    gpus: tuple[Gpu, ...]
    mpi: str
    ranks: tuple[Rank, ...]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One thing that went wrong; host and rank where they are known."""

    message: str
    host: str
    rank: int | None
    stderr: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How the job ended."""

    code: int
    fault: str
    message: str
    failures: tuple[Failure, ...]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt at the job; `code` is None while it lasts."""

    number: int
    kind: str
    code: int | None
    message: str


@dataclass(frozen=True, kw_only=True)
class Job:
    """All that is shown of a job.

    Attributes:
        complete: whether its launcher tells; else one worker does, of itself.
        sender: hostname of who tells.
        role: of who tells.
        version: of its mpiboot.
        phase: of the job.
        stage: what the agent does now.
        command: the job's.
        expected: workers that are awaited; None: not known yet.
        ranks: how many are expected, have started and have ended; None: nobody counts.
        seconds: each stage with how long it lasted, in order.
        waited_s: how long workers were waited for; None before.
        deadline_s: of that wait.
        workers: in the job's order.
        attempts: first to last.
        outcome: None before the end.
        ended_at: when it ended, RFC 3339; empty before.
    """

    complete: bool
    sender: str
    role: str
    version: str
    phase: str
    stage: str
    command: tuple[str, ...]
    expected: int | None
    ranks: tuple[int, int, int] | None
    seconds: tuple[tuple[str, float], ...]
    waited_s: float | None
    deadline_s: float | None
    workers: tuple[Worker, ...]
    attempts: tuple[Attempt, ...]
    outcome: Outcome | None
    ended_at: str

    @property
    def ended(self) -> bool:
        """Tell whether nothing of it will change any more."""
        return self.outcome is not None


def read(document: object) -> Job:
    """Read a view document; what is missing or makes no sense is not known."""
    data = document if isinstance(document, Mapping) else {}
    status = reading.mapping(data, "status")
    return Job(
        complete=data.get("complete") is True,
        sender=reading.text(data, "from"),
        role=reading.text(status, "role"),
        version=reading.text(status, "version"),
        phase=reading.text(status, "phase"),
        stage=reading.text(status, "stage"),
        command=reading.texts(status, "command", _MOST_WORDS),
        expected=reading.whole(status, "expected"),
        ranks=_counts(status.get("ranks")),
        seconds=_seconds(reading.mapping(data, "seconds"), status),
        waited_s=reading.number(data, "waited_s"),
        deadline_s=reading.number(data, "deadline_s"),
        workers=reading.each(data, "workers", _worker),
        attempts=reading.each(status, "attempts", _attempt),
        outcome=_outcome(status.get("outcome")),
        ended_at=_since(status, "ended"),
    )


def _worker(data: Data) -> Worker:
    return Worker(
        name=reading.text(data, "name"),
        phase=reading.text(data, "phase"),
        reason=reading.text(data, "reason"),
        state=reading.text(data, "state"),
        ready=data.get("ready") is True,
        detail=reading.text(data, "detail"),
        since_s=reading.number(data, "since_s"),
        slots=reading.whole(data, "slots"),
        lease=reading.text(data, "lease"),
        heartbeat_age_s=reading.number(data, "heartbeat_age_s"),
        cpus=reading.number(data, "cpus"),
        cpu_percent=reading.number(data, "cpu_percent"),
        memory_bytes=reading.number(data, "memory_bytes"),
        memory_limit_bytes=reading.number(data, "memory_limit_bytes"),
        gpus=reading.each(data, "gpus", _gpu),
        mpi=reading.text(data, "mpi"),
        ranks=reading.each(data, "ranks", _rank),
    )


def _gpu(data: Data) -> Gpu:
    return Gpu(
        busy_percent=reading.number(data, "busy_percent"),
        memory_bytes=reading.number(data, "memory_bytes"),
    )


def _rank(data: Data) -> Rank:
    return Rank(
        rank=reading.whole(data, "rank") or 0,
        state=reading.text(data, "state"),
        code=reading.whole(data, "code"),
        signal=reading.whole(data, "signal"),
        cpu_percent=reading.number(data, "cpu_percent"),
        memory_bytes=reading.number(data, "memory_bytes"),
    )


def _attempt(data: Data) -> Attempt:
    ended = reading.mapping(data, "outcome")
    return Attempt(
        number=reading.whole(data, "number") or 0,
        kind=reading.text(data, "kind"),
        code=reading.whole(ended, "code"),
        message=reading.text(ended, "message"),
    )


def _outcome(data: object) -> Outcome | None:
    if not isinstance(data, Mapping):
        return None
    return Outcome(
        code=reading.whole(data, "code") or 0,
        fault=reading.text(data, "fault"),
        message=reading.text(data, "message"),
        failures=reading.each(data, "failures", _failure),
    )


def _failure(data: Data) -> Failure:
    return Failure(
        message=reading.text(data, "message"),
        host=reading.text(data, "host"),
        rank=reading.whole(data, "rank"),
        stderr=reading.texts(data, "stderr", _MOST_STDERR),
    )


def _seconds(lasted: Data, status: Data) -> tuple[tuple[str, float], ...]:
    """Return the stages in the order in which they began; those that nobody dates come last."""
    begun = [reading.text(one, "stage") for one in reading.mappings(status, "stages")]
    order = dict.fromkeys([*begun, *map(str, lasted)])
    found = ((stage, reading.number(lasted, stage)) for stage in order)
    return tuple((stage, s) for stage, s in found if s is not None)


def _since(status: Data, stage: str) -> str:
    begun = (
        reading.text(one, "since")
        for one in reading.mappings(status, "stages")
        if one.get("stage") == stage
    )
    return next(begun, "").partition(".")[0].replace("T", " ")


def _counts(data: object) -> tuple[int, int, int] | None:
    if not isinstance(data, Mapping):
        return None
    expected, started, ended = (
        reading.whole(data, key) or 0 for key in ("expected", "started", "ended")
    )
    return (expected, started, ended)
