"""End what launchers have started in this container: all but the agent's own and open leases."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable

from mpiboot.link.server import Lease, LinkServer
from mpiboot.log import logger
from mpiboot.model.counting import counted
from mpiboot.plan.causes import size
from mpiboot.roles.agent import Agent
from mpiboot.runtime import processes, segments
from mpiboot.runtime.ladder import Ladder

_LOOK_S = 0.02
_READ_S = 1.0


class Clearing:
    """Knows which processes belong to a job, whatever session or parent they have taken.

    Args:
        agent: whose container this is.
        link: its open leases.
    """

    def __init__(self, agent: Agent, link: LinkServer) -> None:
        self._agent = agent
        self._link = link

    def victims(self) -> list[int]:
        """List the processes of jobs.

        All that sshd has started, and what was orphaned and adopted by us; a shell that somebody
        has opened by way of the container engine is none of ours.
        """
        table = processes.parents()
        kept = {os.getpid()}
        for lease in self._link.leases:
            kept.update(processes.line(lease.pid, table))
        own = {child.pid: child.name for child in self._agent.children.running}
        helpers = {pid for pid, name in own.items() if name != "sshd"}
        return [
            pid
            for pid in processes.descendants(os.getpid(), table)
            if pid not in kept and pid not in own and not helpers & set(processes.line(pid, table))
        ]

    def session(self, lease: Lease) -> list[int]:
        """List the processes that carry a lease, from the bridge up to sshd's listener."""
        own = {os.getpid(), *(child.pid for child in self._agent.children.running)}
        line = processes.line(lease.pid, processes.parents()) if lease.pid else []
        return list(itertools.takewhile(lambda pid: pid not in own, line))

    async def let_end(self, pids: set[int], most_s: float) -> None:
        """Wait until processes have ended by themselves, for a while at most."""
        await _until(lambda: not pids & processes.parents().keys(), most_s)

    async def clear(self, grace_s: float, why: str) -> int:
        """End them, by TERM and after the grace by KILL, until none is left.

        Args:
            grace_s: from TERM to KILL, in seconds.
            why: for the log.

        Returns:
            how many there were.
        """
        found = len(self.victims())
        if found:
            logger.warning(
                "%s: ending %s that it left", why, counted(found, "process", "processes")
            )
            await Ladder.of(grace_s).end(self.victims)
        # What they have said last is passed on before anybody takes it for his own ranks' words.
        await _until(lambda: not self._link.wrappers, _READ_S)
        shared_memory()
        return found


async def _until(done: Callable[[], bool], most_s: float) -> None:
    """Look again and again, for a while at most."""
    loop = asyncio.get_running_loop()
    end = loop.time() + most_s
    while not done() and loop.time() < end:  # noqa: ASYNC110 - the kernel tells no event of ours
        await asyncio.sleep(_LOOK_S)


def shared_memory() -> None:
    """Remove the shared memory that dead ranks have left."""
    count, size_bytes = segments.clean()
    if count:
        logger.info(
            "removed %s of dead ranks from /dev/shm: %s",
            counted(count, "segment"),
            size(size_bytes),
        )
