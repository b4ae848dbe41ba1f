"""Try what a role would do, and keep its own words where that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from mpiboot.errors import ConfigError, MpibootError
from mpiboot.model import checkup
from mpiboot.model.checkup import Trial
from mpiboot.model.record import dataclass
from mpiboot.runtime.within import within

T = TypeVar("T")
CHECK_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Tried(Generic[T]):
    """How it went, and what came of it; None where it failed."""

    trial: Trial
    made: T | None = None


async def tried(
    work: Coroutine[Any, Any, T],
    told: Callable[[T], str],
    what: str,
    timeout_s: float = CHECK_S,
) -> Tried[T]:
    """Do some work within its time.

    Args:
        work: what may fail.
        told: makes a text for people of what came of it.
        what: how the work is called where it takes too long.
        timeout_s: how long it may take.
    """
    try:
        done = await within(timeout_s, work)
    except MpibootError as fault:
        return Tried(trial=checkup.failed(fault))
    except asyncio.TimeoutError:
        late = ConfigError(f"{what} gives no answer within {timeout_s:g} s")
        return Tried(trial=checkup.failed(late))
    return Tried(trial=Trial(text=told(done)), made=done)


def judged(work: Callable[[], str]) -> Trial:
    """Do some work that does not wait."""
    try:
        return Trial(text=work())
    except MpibootError as fault:
        return checkup.failed(fault)
