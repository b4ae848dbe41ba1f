"""An MPI daemon that died under its ranks: what mpirun says of it, and what its worker sees."""

from __future__ import annotations

import signal as signals
from collections.abc import Collection, Mapping, Sequence

from mpiboot.model.outcome import Failure
from mpiboot.model.record import dataclass, field
from mpiboot.plan.ranks import Ranks

DIED = "its MPI daemon died"
# What is done to ranks because of something else.
_KILLED = (signals.SIGKILL, signals.SIGTERM)


def blamed(told: Sequence[Failure], seen: Ranks, code: int, survived: int | None) -> str:
    """Name the host whose daemon explains mpirun's end; empty where a rank has failed by itself.

    A rank whose daemon dies ends with a code of its MPI's own, and those elsewhere are killed: it is
    the daemon that failed first, though its end is reported by nobody but mpirun.

    Args:
        told: what mpirun says, in its order.
        seen: what the ranks' wrappers reported.
        code: mpirun's own.
        survived: code of ranks that ended because of another one; None: this MPI has none.
    """
    host = lost(told)
    if not host or (seen.np and not seen.started):
        return ""
    if not code and (not seen.np or seen.all_well):
        return ""
    elsewhere = [end for end in seen.failures if end.host != host]
    own = [end for end in elsewhere if end.signal not in _KILLED and end.code != survived]
    return "" if own else host


def lost(told: Sequence[Failure]) -> str:
    """Name the host whose daemon mpirun lost before it heard of a rank's failure; empty: none."""
    daemon = next((one for one in told if "lost the daemon" in one.message and one.host), None)
    if daemon is None or any(one.rank is not None for one in told[: told.index(daemon)]):
        return ""
    return daemon.host


@dataclass(frozen=True, kw_only=True)
class Orphans:
    """Ranks without a daemon, look by look; two looks in a row leave no doubt.

    When a job ends in good order, its ranks may outlive their daemon by a moment.

    Attributes:
        pids: of programs that were orphans at the last look.
        certain: whether one of them was already at the look before.
    """

    pids: Collection[int] = field(default_factory=frozenset)
    certain: bool = False

    def look(self, ranks: Collection[int], parents: Mapping[int, int], agent: int) -> Orphans:
        """Look again.

        Args:
            ranks: pids of the programs that run as ranks; the parent of each is its wrapper.
            parents: of all living processes.
            agent: our own pid; we adopt what loses its parent.
        """
        orphans = frozenset(
            pid for pid in ranks if pid in parents and parents.get(parents[pid]) == agent
        )
        return Orphans(pids=orphans, certain=bool(orphans & frozenset(self.pids)))
