"""Read the view document: whatever stands in it came from other machines, and may be anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from mpiboot.model.record import dataclass

T = TypeVar("T")
Data = Mapping[str, object]

_MOST_TEXT = 1000
_MOST_ITEMS = 100_000
_MOST_STDERR = 20


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
    """One thing that went wrong."""

    message: str
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
    status = _mapping(data, "status")
    return Job(
        complete=data.get("complete") is True,
        sender=_text(data, "from"),
        role=_text(status, "role"),
        version=_text(status, "version"),
        phase=_text(status, "phase"),
        stage=_text(status, "stage"),
        command=_texts(status, "command", _MOST_TEXT),
        expected=_whole(status, "expected"),
        ranks=_counts(status.get("ranks")),
        seconds=_seconds(_mapping(data, "seconds"), status),
        waited_s=_number(data, "waited_s"),
        deadline_s=_number(data, "deadline_s"),
        workers=_each(data, "workers", _worker),
        attempts=_each(status, "attempts", _attempt),
        outcome=_outcome(status.get("outcome")),
        ended_at=_since(status, "ended"),
    )


def _worker(data: Data) -> Worker:
    return Worker(
        name=_text(data, "name"),
        phase=_text(data, "phase"),
        reason=_text(data, "reason"),
        state=_text(data, "state"),
        ready=data.get("ready") is True,
        detail=_text(data, "detail"),
        since_s=_number(data, "since_s"),
        slots=_whole(data, "slots"),
        lease=_text(data, "lease"),
        heartbeat_age_s=_number(data, "heartbeat_age_s"),
        cpus=_number(data, "cpus"),
        cpu_percent=_number(data, "cpu_percent"),
        memory_bytes=_number(data, "memory_bytes"),
        memory_limit_bytes=_number(data, "memory_limit_bytes"),
        gpus=_each(data, "gpus", _gpu),
        mpi=_text(data, "mpi"),
        ranks=_each(data, "ranks", _rank),
    )


def _gpu(data: Data) -> Gpu:
    return Gpu(
        busy_percent=_number(data, "busy_percent"), memory_bytes=_number(data, "memory_bytes")
    )


def _rank(data: Data) -> Rank:
    return Rank(
        rank=_whole(data, "rank") or 0,
        state=_text(data, "state"),
        code=_whole(data, "code"),
        signal=_whole(data, "signal"),
        cpu_percent=_number(data, "cpu_percent"),
        memory_bytes=_number(data, "memory_bytes"),
    )


def _attempt(data: Data) -> Attempt:
    ended = _mapping(data, "outcome")
    return Attempt(
        number=_whole(data, "number") or 0,
        kind=_text(data, "kind"),
        code=_whole(ended, "code"),
        message=_text(ended, "message"),
    )


def _outcome(data: object) -> Outcome | None:
    if not isinstance(data, Mapping):
        return None
    return Outcome(
        code=_whole(data, "code") or 0,
        fault=_text(data, "fault"),
        message=_text(data, "message"),
        failures=_each(data, "failures", _failure),
    )


def _failure(data: Data) -> Failure:
    return Failure(message=_text(data, "message"), stderr=_texts(data, "stderr", _MOST_STDERR))


def _seconds(lasted: Data, status: Data) -> tuple[tuple[str, float], ...]:
    """Return the stages in the order in which they began; those that nobody dates come last."""
    begun = [_text(one, "stage") for one in _mappings(status, "stages")]
    order = dict.fromkeys([*begun, *lasted])
    found = ((stage, _number(lasted, stage)) for stage in order)
    return tuple((stage[:_MOST_TEXT], s) for stage, s in found if s is not None)


def _since(status: Data, stage: str) -> str:
    begun = (
        _text(one, "since") for one in _mappings(status, "stages") if one.get("stage") == stage
    )
    return next(begun, "").partition(".")[0].replace("T", " ")


def _counts(data: object) -> tuple[int, int, int] | None:
    if not isinstance(data, Mapping):
        return None
    expected, started, ended = (_whole(data, key) or 0 for key in ("expected", "started", "ended"))
    return (expected, started, ended)


def _mapping(data: Data, key: str) -> Data:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _mappings(data: Data, key: str) -> Sequence[Data]:
    value = data.get(key)
    items = value[:_MOST_ITEMS] if isinstance(value, list) else []
    return [one for one in items if isinstance(one, Mapping)]


def _each(data: Data, key: str, reading: Callable[[Data], T]) -> tuple[T, ...]:
    return tuple(reading(one) for one in _mappings(data, key))


def _text(data: Data, key: str) -> str:
    value = data.get(key)
    return value[:_MOST_TEXT] if isinstance(value, str) else ""


def _texts(data: Data, key: str, most: int) -> tuple[str, ...]:
    value = data.get(key)
    items = value[:most] if isinstance(value, list) else []
    return tuple(one[:_MOST_TEXT] for one in items if isinstance(one, str))


def _number(data: Data, key: str) -> float | None:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    known = 0 <= value < 1e18 and math.isfinite(value)
    return value if known else None


def _whole(data: Data, key: str) -> int | None:
    value = _number(data, key)
    return None if value is None else int(value)
