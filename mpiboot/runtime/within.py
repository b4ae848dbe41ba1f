"""Bound a wait, without losing a cancellation."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def came(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Wait for an event; tell whether it came in time.

    Args:
        event: it is not cleared.
        timeout_s: seconds; None for no bound.
    """
    with contextlib.suppress(asyncio.TimeoutError):
        await within(timeout_s, event.wait())
    return event.is_set()


async def within(timeout_s: float | None, work: Awaitable[T]) -> T:
    """Wait for some work; when the time is over, cancel it.

    `asyncio.wait_for` does the same, but before Python 3.12 it swallows a cancellation that arrives
    together with the result, and whoever has cancelled the caller waits for ever.

    Args:
        timeout_s: seconds; None for no bound.
        work: a coroutine or future.

    Raises:
        asyncio.TimeoutError: the time is over; whatever the work raises.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=timeout_s)
    finally:
        late = not task.done()
        if late:
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # where our caller is cancelled nobody else will look at it
    if late and task.cancelled():
        raise asyncio.TimeoutError
    return task.result()
