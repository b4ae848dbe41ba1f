"""How many files this process may open: a launcher with many leases needs more than is usual."""

from __future__ import annotations

import resource


def room_for(wanted: int) -> int:
    """Raise the soft limit as far as it is needed and allowed; it is never lowered.

    What the job's command inherits is no more than we need: programs exist that close every number
    up to the limit.

    Args:
        wanted: open files.

    Returns:
        how many there may be now.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    able = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if able > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (able, hard))
    return max(able, soft)
