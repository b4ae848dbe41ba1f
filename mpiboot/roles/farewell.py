"""Let those who have their last answer leave: at our end everything in this container is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from mpiboot.runtime import processes

_MOST_S = 2.0
_POLL_S = 0.02


async def take(pids: Collection[int]) -> None:
    """Wait for processes of this container to end, for a moment at most.

    Args:
        pids: of those who were told something that they shall read; 0 where it is not known.
    """
    left, clock = {pid for pid in pids if pid > 1}, asyncio.get_running_loop().time
    end = clock() + _MOST_S
    while left and clock() < end:
        left &= set(processes.parents())
        await asyncio.sleep(_POLL_S)
