"""Tell workers how it ended, and wait a moment for their answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from mpiboot.link import messages
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.plan.gather import Seen
from mpiboot.plan.release import Over
from mpiboot.roles.spreading import spread

_ANSWER_S = 2.0
# Those of whom there is no lease: so many logins at once, and so much time for them.
_AT_ONCE = 32
_VISITS_S, _VISIT_S = 5.0, 0.25


async def say(over: Over, leases: Collection[Lease]) -> None:
    """Send the end of the attempt over every lease that has an agent behind it, then close all."""
    await tell(over, leases)
    for lease in leases:
        lease.close()


async def tell(over: Over, leases: Collection[Lease]) -> None:
    """Send the end of the attempt, and wait a moment for the answers; the leases stay open."""
    asked = [lease for lease in leases if not lease.plain]
    answers = [_one(over, lease) async for lease in spread(asked)]
    if answers:
        _, silent = await asyncio.wait(answers, timeout=_ANSWER_S)
        for answer in silent:
            answer.cancel()


async def visit(
    over: Over, hosts: Collection[Seen], log_in: Callable[[Seen], Awaitable[Lease | None]]
) -> list[str]:
    """Log in to hosts of which there is no lease, to tell them, too.

    Args:
        over: the end of the attempt.
        hosts: those without a lease.
        log_in: opens a connection; None where that does not work.

    Returns:
        names of those who could not be told in time.
    """
    room = asyncio.Semaphore(_AT_ONCE)
    untold = {one.host.name for one in hosts}

    async def one_of(one: Seen) -> None:
        async with room:
            lease = await log_in(one)
            if lease is not None:
                await say(over, [lease])
                untold.discard(one.host.name)

    visits = [asyncio.ensure_future(one_of(one)) for one in hosts]
    if visits:
        _, late = await asyncio.wait(visits, timeout=_VISITS_S + _VISIT_S * len(visits))
        for visiting in late:
            visiting.cancel()
    return sorted(untold)


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
