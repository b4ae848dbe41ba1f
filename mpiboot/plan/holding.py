"""How many leases a launcher can hold: each takes descriptors, of which the container grants so many."""

from __future__ import annotations

EACH = 3  # a connection, and a pipe that wakes the loop
_OTHERS = 512  # output, logins under way, mpirun's pipes


def with_sessions(count: int) -> int:
    """Return how many open files leases take over each of which a session or two run.

    A socket that is listened at; of a session the connection of its ssh, three descriptors that this
    passes, and a pipe.
    """
    return descriptors(count) + (1 + 2 * 6) * count


def descriptors(limit: int) -> int:
    """Return how many open files so many leases take, with all else that a launcher has open."""
    return EACH * limit + _OTHERS


def bound(limit: int, granted: int) -> int:
    """Return how many leases may be held.

    Args:
        limit: the setting.
        granted: open files that the process may have.
    """
    return max(1, min(limit, (granted - _OTHERS) // EACH))
