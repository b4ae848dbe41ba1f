"""Which hosts of a wait are worth a row when not all have room: those that make trouble first."""

from __future__ import annotations

import enum
import heapq
from collections.abc import Iterable

from mpiboot.plan.gather import Reach, Seen


class Trouble(enum.IntEnum):
    """How much somebody should look at a host; the least number comes first."""

    FAULT = 0  # waiting will not heal it
    UNREACHED = 1
    UNTRIED = 2
    NONE = 3


def trouble(reach: Reach) -> Trouble:
    """Tell how much trouble a host makes that was reached so far."""
    if reach.ready:
        return Trouble.NONE
    if reach.permanent:
        return Trouble.FAULT
    return Trouble.UNTRIED if reach is Reach.UNTRIED else Trouble.UNREACHED


_TROUBLE = {reach: trouble(reach) for reach in Reach}  # it is asked for each host of thousands


def worst_first(seen: Iterable[Seen], most: int) -> list[Seen]:
    """Return the hosts that are shown, worst first and else in the job's order.

    Args:
        seen: all hosts.
        most: how many have room.
    """
    return heapq.nsmallest(max(0, most), seen, key=lambda one: _TROUBLE[one.reach])
