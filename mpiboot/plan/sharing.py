"""CPUs that workers have in common, as containers of one machine do, and ranks that are too many.

An MPI that binds its ranks does so in each container by itself: the first rank of each gets the first
CPU that it sees there, which is the same one. And a rank that waits for a message polls: where it
shares its CPU with the one that is to send, each waits for the kernel to take it away. Two containers
with a rank each, on a machine of two CPUs: 9 ms for an allreduce in place of 50 µs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from mpiboot.model.counting import counted
from mpiboot.model.facts import Facts
from mpiboot.model.record import dataclass
from mpiboot.plan.layout import Place
from mpiboot.plan.parties import listed

_MOST = 1 << 13  # CPUs that any Linux knows


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """What a job's ranks leave each other.

    Attributes:
        shared: whether workers have CPUs in common.
        crowds: who has fewer CPUs than slots, as the log tells it.
        oversubscribe: whether more ranks than slots are wanted.
    """

    shared: bool = False
    crowds: tuple[str, ...] = ()
    oversubscribe: bool = False

    @property
    def busy(self) -> bool:
        """Whether there are fewer CPUs than ranks somewhere, so that these must not spin."""
        return bool(self.crowds) or self.oversubscribe

    @property
    def unbound(self) -> bool:
        """Whether ranks would be bound to CPUs that others use, too, or to more than there are."""
        return self.busy or self.shared


@dataclass(frozen=True, kw_only=True)
class _Worker:
    """A worker of which CPUs are known: how many, as a set of bits, and on which machine."""

    name: str
    slots: int
    cpus: float
    mask: int
    on: str


def look(
    places: Sequence[Place], facts: Sequence[Facts | None], *, oversubscribe: bool = False
) -> Sharing:
    """Compare the CPUs of all workers with their slots.

    Args:
        places: the workers.
        facts: what each of them tells; None for a plain sshd, of which nothing is known.
        oversubscribe: whether more ranks than slots are wanted.
    """
    known = [
        _Worker(
            name=place.name,
            slots=place.slots,
            cpus=one.cpus,
            mask=_mask(one.cpu_list),
            on=one.machine,
        )
        for place, one in zip(places, facts, strict=True)
        if one is not None and one.cpus
    ]
    crowds = [
        f"{one.name} has {counted(one.cpus, 'CPU', form='g')} for {counted(one.slots, 'slot')}: waiting ranks let others run"
        for one in known
        if one.cpus < one.slots
    ]
    groups = [group for group in _groups(known) if len(group) > 1]
    crowds = crowds or [text for group in groups if (text := _crowd(group))]
    return Sharing(shared=bool(groups), crowds=tuple(crowds), oversubscribe=oversubscribe)


def _crowd(group: Sequence[_Worker]) -> str:
    """Tell that workers with CPUs in common have too few of them; empty: they have enough."""
    seen = reduce(or_, (one.mask for one in group)).bit_count()
    cpus = min(sum(one.cpus for one in group), seen)
    slots = sum(one.slots for one in group)
    if cpus >= slots:
        return ""
    names = listed([one.name for one in group])
    return f"{names} share {counted(cpus, 'CPU', form='g')} for {counted(slots, 'slot')}: waiting ranks let others run"


def _groups(known: Sequence[_Worker]) -> list[list[_Worker]]:
    """Put workers together that are on one machine and may run on the same of its CPUs."""
    placed = [one for one in known if one.on and one.mask]
    masks: dict[str, set[int]] = {}
    for one in placed:
        masks.setdefault(one.on, set()).add(one.mask)
    united = {machine: _united(found) for machine, found in masks.items()}
    groups: dict[tuple[str, int], list[_Worker]] = {}
    for one in placed:
        whole = next(together for together in united[one.on] if together & one.mask)
        groups.setdefault((one.on, whole), []).append(one)
    return list(groups.values())


def _united(masks: Iterable[int]) -> list[int]:
    """Unite sets that have a CPU in common."""
    apart: list[int] = []
    for mask in masks:
        whole = reduce(or_, (other for other in apart if other & mask), mask)
        apart = [*(other for other in apart if not other & mask), whole]
    return apart


def _mask(cpu_list: str) -> int:
    """Read a list of CPUs as the kernel writes it, `0-3,8`; 0: it is none."""
    mask = 0
    for part in cpu_list.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) < _MOST):
            return 0
        mask |= (1 << (int(last) + 1)) - (1 << int(first))
    return mask
