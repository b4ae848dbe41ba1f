"""Tell workers how it ended, and wait a moment for their answer."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from mpiboot.link import messages
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.plan.release import Over

_ANSWER_S = 2.0


async def say(over: Over, leases: Collection[Lease]) -> None:
    """Send the end of the attempt over every lease that has an agent behind it, then close all."""
    answers = [_one(over, lease) for lease in leases if not lease.plain]
    if answers:
        _, silent = await asyncio.wait(answers, timeout=_ANSWER_S)
        for answer in silent:
            answer.cancel()
    for lease in leases:
        lease.close()


def _one(over: Over, lease: Lease) -> asyncio.Future[None]:
    """Tell one worker; the future is done when it has answered or is gone."""
    heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def answered(message: Message) -> None:
        if message.kind == messages.BYE and not heard.done():
            heard.set_result(None)

    def gone(_why: str, _how: object) -> None:
        if not heard.done():
            heard.set_result(None)

    lease.attach(answered, gone)
    lease.send(messages.over_message(over))
    return heard
