"""The order to end an attempt: the first one counts."""

from __future__ import annotations

import asyncio

from mpiboot.plan.evidence import Cause, Halt
from mpiboot.roles.agent import Agent


class Halting:
    """Waits for a reason to end the attempt.

    Attributes:
        agent: the agent at work.
        order: the first that came; None so far.
        ordered: set with it.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.order: Halt | None = None
        self.ordered = asyncio.Event()
        self._follow = asyncio.ensure_future(self._until_stopped())

    def give(self, order: Halt) -> None:
        """Order the end of the attempt."""
        if self.order is None:
            self.order = order
            self.ordered.set()

    def close(self) -> None:
        """Wait no longer."""
        self._follow.cancel()

    async def _until_stopped(self) -> None:
        agent = self.agent
        await agent.stopped.wait()
        if agent.stop_signal is None:
            self.give(Halt(cause=Cause.DEADLINE))
        else:
            self.give(Halt(cause=Cause.SIGNAL, signal=agent.stop_signal))
