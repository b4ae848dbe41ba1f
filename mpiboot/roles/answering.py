"""What a launcher asks a worker about its container and its ranks, and what people there ask."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.server import Lease, LinkServer
from mpiboot.roles import called, ranksignals
from mpiboot.roles.agent import Agent

if TYPE_CHECKING:
    from mpiboot.roles.metering import Metering
    from mpiboot.roles.onlookers import Onlookers

_MOST = 16  # answers that are being found at the same time


class Answering:
    """Answers questions, those that take time in the background.

    What few jobs need is loaded by the first who asks for it: a worker idles without.

    Args:
        agent: the agent at work.
        link: where launchers and the ranks' wrappers are connected.
    """

    def __init__(self, agent: Agent, link: LinkServer) -> None:
        self._agent = agent
        self._link = link
        self._under_way: set[asyncio.Future[None]] = set()

    def hear(self, lease: Lease, message: Message) -> None:
        """Take a question or an order of a launcher's that is for the ranks here, or about them."""
        if message.kind == messages.CALL:
            self._find(called.answer(lease, message))
        elif message.kind == messages.RANK:
            self._link.tell_rank(messages.rank_message(message.body))
        elif message.kind == messages.SIGNAL:
            warned = ranksignals.obey(self._link, message)
            if warned is not None:
                lease.send(messages.warned_message(warned))
        elif message.kind == messages.USAGE:
            self._find(self._tell_usage(lease))
        elif message.kind == messages.VIEW:
            self._onlookers.answered(lease, message)
        elif message.kind in (messages.LOOK, messages.STACKS):
            from mpiboot.roles import stalling  # noqa: PLC0415 - few jobs hang

            self._find(stalling.answer(self._link, self._agent, message, lease.send))

    def show(self, client: Lease, message: Message) -> None:
        """Take in somebody in this container who wants to see the job."""
        self._onlookers.hear(client, message)

    async def part(self) -> None:
        """Let those who look on read the end."""
        if "_onlookers" in vars(self):
            await self._onlookers.part()

    def _find(self, work: Coroutine[Any, Any, None]) -> None:
        """Answer in the background; what is asked beside too many others stays unanswered."""
        if len(self._under_way) >= _MOST:
            work.close()
            return
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _tell_usage(self, lease: Lease) -> None:
        lease.send(await self._metering.answer())

    @functools.cached_property
    def _metering(self) -> Metering:
        from mpiboot.roles.metering import Metering  # noqa: PLC0415 - many jobs are never looked at

        return Metering(self._agent, self._link)

    @functools.cached_property
    def _onlookers(self) -> Onlookers:
        from mpiboot.roles.onlookers import Onlookers  # noqa: PLC0415 - as above

        return Onlookers(self._agent, self._link, self._metering)
