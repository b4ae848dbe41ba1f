"""Tell a job that hangs from one that is quiet.

Hanging is: nobody has written anything for a set time, and at least one rank has made next to no CPU
progress meanwhile. A rank that waits for another one may well be busy, as most MPIs poll. What is not
seen: a job in which all ranks spin. What is seen wrongly: a rank that waits for a GPU or a disk
without a CPU, silently, for longer than the set time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from mpiboot.model.record import dataclass

_IDLE = 0.05  # of one core


@dataclass(frozen=True, kw_only=True)
class Sample:
    """CPU time that a rank and its children have used up to a moment.

    Attributes:
        at: seconds on the clock that `idle` is asked with.
        cpu_ms: the time used.
    """

    at: float
    cpu_ms: int


class Stall:
    """Keeps samples of all ranks, no longer than they are needed.

    Args:
        timeout_s: how long a job may be silent.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._samples: dict[int, deque[Sample]] = {}

    def hear(self, cpu_ms: Mapping[int, int], at: float) -> None:
        """Take what ranks have used up to now; of one that is left out nothing is known."""
        for rank, used in cpu_ms.items():
            samples = self._samples.setdefault(rank, deque())
            samples.append(Sample(at=at, cpu_ms=used))
            while len(samples) > 2 and at - samples[1].at >= self._timeout_s:
                samples.popleft()

    def idle(self, running: Collection[int], *, quiet_since: float, now: float) -> list[int]:
        """Name the ranks that hold the job up; none: it does not hang, or nobody can tell.

        Args:
            running: the ranks that have started and have not ended.
            quiet_since: when anything was last written.
            now: the time.
        """
        if now - quiet_since < self._timeout_s:
            return []
        return [rank for rank in sorted(running) if self._is_idle(rank, now)]

    def _is_idle(self, rank: int, now: float) -> bool:
        """Compare the latest sample, if it is one of now, with one that is old enough."""
        samples = self._samples.get(rank)
        if not samples or now - samples[-1].at > self._timeout_s:
            return False
        last = samples[-1]
        first = next(
            (one for one in reversed(samples) if last.at - one.at >= self._timeout_s), None
        )
        if first is None:
            return False
        used_ms = last.cpu_ms - first.cpu_ms
        # Less than before: a process has ended whose time nobody has taken over, and that is progress.
        return 0 <= used_ms < _IDLE * 1000 * (last.at - first.at)


def pause_s(timeout_s: float) -> float:
    """Return how often to look: often enough, and not so often that it costs anything."""
    return min(max(0.5, timeout_s / 4), 60.0)


_NAMED = 8


def words(idle: Mapping[int, str], quiet_s: float) -> str:
    """Say in one sentence what is wrong.

    Args:
        idle: host of each rank that makes no progress.
        quiet_s: time without output.
    """
    named = [f"rank {rank} on {host}" for rank, host in list(idle.items())[:_NAMED]]
    more = len(idle) - len(named)
    who = ", ".join([*named, *([f"{more} more"] if more else [])])
    return f"no output for {quiet_s:.0f} s and no progress of {who}"


def chosen(idle: Collection[int], running: Collection[int], most: int) -> list[int]:
    """Choose the ranks whose stacks are shown: those that are idle, then others they may wait for."""
    others = [rank for rank in sorted(running) if rank not in set(idle)]
    return [*idle, *others][:most]
