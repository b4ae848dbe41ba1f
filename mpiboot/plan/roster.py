"""All hosts of a wait with what was last seen of each, and counts that cost no look at all of them.

A wait for ten thousand workers takes in ten thousand pieces of news, and as many tries a second; a
look at every host for each of them would be their product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping, ValuesView

from mpiboot.plan.gather import Reach, Seen, Terms


class Roster(MutableMapping[str, Seen]):
    """Name → what was last seen of that host, in the job's order.

    Args:
        seen: hosts to begin with.
    """

    def __init__(self, seen: Iterable[Seen] = ()) -> None:
        self._seen: dict[str, Seen] = {}
        self._reached: Counter[Reach] = Counter()
        self._unleased = 0
        self.changes = 0  # how often anything of it changed
        self._longest_s: float | None = 0.0  # None: whoever it was has changed
        for one in seen:
            self[one.host.name] = one

    def __getitem__(self, name: str) -> Seen:
        return self._seen[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)

    def __setitem__(self, name: str, one: Seen) -> None:
        before = self._seen.get(name)
        if before is not None:
            self._forget(before)
        self._seen[name] = one
        self.changes += 1
        self._reached[one.reach] += 1
        self._unleased += not one.leased
        if self._longest_s is not None:
            self._longest_s = max(self._longest_s, one.ready_after_s or 0.0)

    def __delitem__(self, name: str) -> None:
        self._forget(self._seen.pop(name))

    def values(self) -> ValuesView[Seen]:
        """View all that was seen, in order; as a dictionary does, for it is the common question."""
        return self._seen.values()

    def arrange(self, names: Iterable[str]) -> None:
        """Put these hosts first, in this order; all others stay behind them as they are."""
        wanted = dict.fromkeys(name for name in names if name in self._seen)
        self._seen = {name: self._seen[name] for name in (wanted | self._seen)}

    def _forget(self, one: Seen) -> None:
        self.changes += 1
        self._reached[one.reach] -= 1
        self._unleased -= not one.leased
        if one.ready_after_s is not None and one.ready_after_s == self._longest_s:
            self._longest_s = None

    @property
    def ready(self) -> int:
        """How many can take part."""
        return sum(count for reach, count in self._reached.items() if reach.ready)

    @property
    def pending(self) -> int:
        """How many are not ready."""
        return len(self._seen) - self.ready

    @property
    def faulty(self) -> int:
        """How many have a fault that waiting will not heal."""
        return sum(count for reach, count in self._reached.items() if reach.permanent)

    @property
    def reasons(self) -> frozenset[str]:
        """Why hosts that were tried are not ready."""
        late = (reach for reach, count in self._reached.items() if count and not reach.ready)
        return frozenset(reach.value for reach in late if reach is not Reach.UNTRIED)

    @property
    def unleased(self) -> int:
        """How many were proven beyond the limit of leases."""
        return self._unleased

    @property
    def longest_s(self) -> float:
        """How long the one that took longest was waited for; 0 before any is ready."""
        if self._longest_s is None:
            self._longest_s = max((one.ready_after_s or 0.0 for one in self.values()), default=0.0)
        return self._longest_s


def undecided(roster: Roster, terms: Terms, waited_s: float) -> bool:
    """Tell by the counts alone that the wait goes on: `gather.decide` need not look at all hosts.

    It has to where enough are ready, a quorum is there, a fault may end the wait, or its time is up.
    """
    ready = roster.ready
    enough = terms.expected is not None and ready >= max(terms.expected, terms.quorum) > 0
    quorum = 0 < terms.quorum <= ready
    struck = terms.strikes > 0 and roster.faulty > 0
    return not (enough or quorum or struck or waited_s >= terms.deadline_s)
