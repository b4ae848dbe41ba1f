"""Limits of this process that are raised, or lowered, for all that it starts."""

from __future__ import annotations

import contextlib
import resource

from mpiboot.runtime import privileges

NOFILE = resource.RLIMIT_NOFILE
MEMLOCK = resource.RLIMIT_MEMLOCK


def pair(which: int) -> tuple[int, int]:
    """Return the soft and the hard limit; -1 is none."""
    return resource.getrlimit(which)  # RLIM_INFINITY is -1


def soften(which: int, soft: int, pid: int = 0) -> None:
    """Set the soft limit; the hard one stays. What the kernel refuses stays as it was.

    Args:
        which: of what.
        soft: the limit.
        pid: of a child that has just been started; 0: our own.
    """
    with contextlib.suppress(OSError, ValueError):
        resource.prlimit(pid, which, (soft, resource.prlimit(pid, which)[1]))


def locked() -> int:
    """Return how many bytes sessions may lock; -1 is no limit, as for root with IPC_LOCK."""
    held = privileges.own()
    boundless = held.uid == 0 and "IPC_LOCK" in held.held
    return -1 if boundless else resource.getrlimit(MEMLOCK)[1]


def room_for(wanted: int) -> int:
    """Raise the soft limit as far as it is needed and allowed; it is never lowered.

    What the job's command inherits is no more than we need: programs exist that close every number
    up to the limit.

    Args:
        wanted: open files.

    Returns:
        how many there may be now.
    """
    soft, hard = pair(NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    able = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if able > soft:
        resource.setrlimit(NOFILE, (able, hard))
    return max(able, soft)
