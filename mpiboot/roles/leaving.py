"""A worker that is told to stop while ranks run here: the launcher hears of it, and they get time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.server import LinkServer
from mpiboot.log import logger
from mpiboot.roles.agent import Agent

_POLL_S = 0.05
# What is kept back of the stop grace for ending ranks that do not end by themselves.
_RESERVE_S = 3.0


class Leaving:
    """Announces the stop and waits for the launcher to bring the job to an end.

    Args:
        agent: the agent at work.
        link: its leases.
    """

    def __init__(self, agent: Agent, link: LinkServer) -> None:
        self._agent = agent
        self._link = link

    async def warn(self, over: Callable[[], bool]) -> None:
        """Tell all launchers, and stay until one says that it is over, or the grace has passed.

        Args:
            over: tells whether the attempt has ended.
        """
        agent = self._agent
        grace_s = min(agent.settings.checkpoint_grace_s, agent.ladder.left_s - _RESERVE_S)
        if grace_s <= 0 or not self._link.leases:
            return
        body = {
            "event": messages.STOPPING, "signal": agent.stop_signal, "grace_ms": int(grace_s * 1000),
        }  # fmt: skip
        for lease in self._link.leases:
            lease.send(Message(kind=messages.NOTICE, body=body))
        logger.info("the launcher is told, and ranks get %.1f s to save their work", grace_s)
        clock = asyncio.get_running_loop().time
        end = clock() + grace_s + _RESERVE_S / 2
        while clock() < end and self._link.leases and not over():
            if agent.ladder.left_s < _RESERVE_S / 2:
                return
            await asyncio.sleep(_POLL_S)
