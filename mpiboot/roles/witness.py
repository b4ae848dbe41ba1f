"""What a worker has seen of an attempt, and the memory that its heartbeats tell of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mpiboot.plan.evidence import Testimony
from mpiboot.report import catalogue
from mpiboot.report.metrics import Family
from mpiboot.runtime import memory, pids


class Witness:
    """Keeps the counters of the beginning, to tell the difference at the end.

    Args:
        restarts: counts the starts of sshd after the first.
    """

    def __init__(self, restarts: Callable[[], int]) -> None:
        self._restarts = restarts
        self._sessions = 0
        self._first = memory.counters()
        self._first_refused = pids.counters().refused or 0
        self._first_restarts = 0

    def begin(self) -> None:
        """Begin a new attempt."""
        self._sessions = 0
        self._first = memory.counters()
        self._first_refused = pids.counters().refused or 0
        self._first_restarts = self._restarts()

    def session(self) -> None:
        """Take note of an SSH session for a command."""
        self._sessions += 1

    def testify(self) -> Testimony:
        """Tell of the attempt."""
        now, then, tasks = memory.counters(), self._first.oom_kills, pids.counters()
        kills = None if now.oom_kills is None or then is None else max(0, now.oom_kills - then)
        return Testimony(
            oom_kills=kills,
            peak_bytes=now.peak_bytes or 0,
            limit_bytes=now.limit_bytes or 0,
            sessions=self._sessions,
            sshd_restarts=self._restarts() - self._first_restarts,
            forks_refused=max(0, (tasks.refused or 0) - self._first_refused),
            pids_limit=tasks.limit or 0,
        )


def memory_families() -> Iterator[Family]:
    """Yield the metrics of this container's memory, as far as its cgroup tells."""
    for metric, known in (
        (catalogue.MEMORY_HELD, memory.working_set()),
        (catalogue.MEMORY_LIMIT, memory.counters().limit_bytes),
    ):
        if known is not None:
            yield metric.one(known)


def beat() -> dict[str, int]:
    """Return what a heartbeat says of this container's memory, in bytes."""
    now = memory.counters()
    known = {"used": now.used_bytes, "limit": now.limit_bytes, "kills": now.oom_kills}
    return {name: value for name, value in known.items() if value is not None}
