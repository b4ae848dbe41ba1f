"""Words to thousands of workers, a few at a time: those who answer are heard by a thread each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

# Each thread that waits for its turn of the interpreter wakes a thousand times a second to ask for
# it: answers of thousands at once keep all CPUs busy with that alone, and leases are lost.
_AT_ONCE, _PAUSE_S = 64, 0.015


async def spread(among: Iterable[T]) -> AsyncIterator[T]:
    """Yield one after the other, with a pause after every few in which they can answer."""
    for number, one in enumerate(among):
        if number and number % _AT_ONCE == 0:
            await asyncio.sleep(_PAUSE_S)
        yield one
