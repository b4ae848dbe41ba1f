"""Logins give way to the loop's other work."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from mpiboot.roles.attempts import Logins
from mpiboot.runtime.within import within


def made(under_way: int) -> Logins:
    terms: Any = None
    logins = Logins(terms, lambda _host, _lease: None)
    loop = asyncio.get_running_loop()
    logins._running.update(loop.create_future() for _ in range(under_way))
    return logins


async def let_in(*, late: bool, timeout_s: float) -> bool:
    """Ask for a turn while four logins are under way; tell whether it came in that time."""
    loop = asyncio.get_running_loop()
    turn = asyncio.ensure_future(made(4).turn())
    end = loop.time() + timeout_s
    while loop.time() < end and not turn.done():
        if late:
            time.sleep(0.1)  # noqa: ASYNC251 - the loop is late: something computes
        await asyncio.sleep(0)
    came = turn.done()
    turn.cancel()
    return came


def test_few_logins_wait_for_nobody() -> None:
    """The first four begin at once."""

    async def run() -> None:
        await within(0.01, made(3).turn())

    asyncio.run(run())


def test_a_loop_that_is_late_gets_no_more_logins() -> None:
    """While something computes, further ones stay at the door."""
    assert not asyncio.run(let_in(late=True, timeout_s=0.8))


def test_a_calm_loop_lets_them_in() -> None:
    """Logins that only wait for a slow worker keep nobody out for long."""
    assert asyncio.run(let_in(late=False, timeout_s=30))
