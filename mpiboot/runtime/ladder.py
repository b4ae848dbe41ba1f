"""Stop what runs: TERM, a grace, KILL; all steps share one deadline, a second TERM shortens it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Collection

from mpiboot.runtime import processes
from mpiboot.runtime.children import Child

# What is kept back from the grace for the last rung and the goodbyes.
RESERVE_S = 2.0
HURRY_S = 1.0
_POLL_S = 0.02
_KILLS = 50  # rounds; who does not go after these hangs in the kernel


class Ladder:
    """One deadline for everything that has to end.

    Args:
        grace_s: time from now on until the agent itself must be gone.
    """

    def __init__(self, grace_s: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self._deadline = self._clock() + max(grace_s - RESERVE_S, grace_s / 2)

    @classmethod
    def of(cls, grace_s: float) -> Ladder:
        """Make one with all of its time before KILL."""
        made = cls(grace_s)
        made._deadline = made._clock() + grace_s
        return made

    def hurry(self) -> None:
        """Shorten what is left, on a second TERM."""
        self._deadline = min(self._deadline, self._clock() + HURRY_S)

    @property
    def left_s(self) -> float:
        """Seconds left before KILL."""
        return max(0.0, self._deadline - self._clock())

    async def stop(self, child: Child, first: int = signal.SIGTERM) -> None:
        """Send a child its signal and see it end, by KILL of all its descendants if need be."""
        family = processes.descendants(child.pid)
        child.signal(first)
        if not await self._until(lambda: not child.running):
            family = [*processes.descendants(child.pid), *family]
            child.signal(signal.SIGKILL)
            child.signal_group(signal.SIGKILL)
            processes.send(family, signal.SIGKILL)
            await child.ended

    async def sweep(self, spare: Collection[int] = ()) -> bool:
        """End every other process; tell whether KILL was needed."""
        if await self._gone(lambda: processes.others(spare)):
            return False
        processes.kill_all(spare)
        return True

    async def end(self, alive: Callable[[], Collection[int]]) -> None:
        """End the processes that `alive` finds, and those that they make meanwhile."""
        await self._gone(alive)
        for _ in range(_KILLS):
            left = alive()
            if not left:
                return
            processes.send(left, signal.SIGKILL)
            await asyncio.sleep(_POLL_S)

    async def _gone(self, alive: Callable[[], Collection[int]]) -> bool:
        """Send TERM to what is alive; tell whether nothing is, within the deadline."""
        left = alive()
        if not left:
            return True
        processes.send(left, signal.SIGTERM)
        # A stopped process acts on TERM only once it goes on.
        processes.send(left, signal.SIGCONT)
        return await self._until(lambda: not alive())

    async def _until(self, done: Callable[[], bool]) -> bool:
        while not done():
            if self.left_s <= 0:
                return False
            await asyncio.sleep(min(_POLL_S, self.left_s))
        return True
