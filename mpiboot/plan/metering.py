"""Two readings of what a container uses → how busy it is."""

from __future__ import annotations

from mpiboot.model.record import dataclass
from mpiboot.model.usage import Usage

_LEAST_S = (
    0.2  # a shorter time between two readings tells more of the kernel's ticks than of the load
)
_MOST_PERCENT = 819_200.0  # 8,192 CPUs, the most that Linux knows


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How busy a container is.

    Attributes:
        usage: the last that it said.
        cpu_percent: of the time between the last two readings, 100 for one CPU; None before.
        ranks_percent: the same of each rank.
    """

    usage: Usage
    cpu_percent: float | None
    ranks_percent: dict[int, float]


class Meter:
    """What one container said, one after the other."""

    def __init__(self) -> None:
        self._before: Usage | None = None
        self.reading: Reading | None = None

    def take(self, now: Usage) -> None:
        """Take in a further reading; one that comes too soon after the last one is left out."""
        before = self._before
        passed_s = 0.0 if before is None else now.at_s - before.at_s
        if before is not None and 0 <= passed_s < _LEAST_S:
            return
        self._before = now
        if before is None or passed_s < 0:  # its clock was set back
            self.reading = Reading(usage=now, cpu_percent=None, ranks_percent={})
            return
        self.reading = Reading(
            usage=now,
            cpu_percent=_percent(now.cpu_ms - before.cpu_ms, passed_s),
            ranks_percent={
                rank: _percent(used[0] - before.ranks[rank][0], passed_s)
                for rank, used in now.ranks.items()
                if rank in before.ranks
            },
        )


def _percent(ms: int, passed_s: float) -> float:
    """Return the share of one CPU; processes that ended unseen may make a sum fall."""
    return round(min(_MOST_PERCENT, max(0.0, ms / 10 / passed_s)), 1)
