"""A bounded wait: result, timeout, and no cancellation lost."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from mpiboot.runtime.within import within


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 5))  # noqa: TID251 - no cancellation is at stake here


@pytest.mark.parametrize("fails", [False, True])
def test_cancellation_beside_the_result_is_not_lost(fails: bool) -> None:
    """A task cancelled in the very moment in which its work is done ends as cancelled."""

    async def check() -> None:
        work = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(within(10, work))
        await asyncio.sleep(0)
        if fails:
            work.set_exception(ConnectionRefusedError())
        else:
            work.set_result(1)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()

    run(check())


def test_result_and_fault_come_through() -> None:
    """Work that is done in time returns its result or raises its own fault."""

    async def check() -> None:
        async def fail() -> None:
            raise ValueError("mine")

        assert await within(None, asyncio.sleep(0, 7)) == 7
        with pytest.raises(ValueError, match="mine"):
            await within(10, fail())

    run(check())


def test_late_work_is_cancelled() -> None:
    """Past the timeout the work is cancelled, has ended, and asyncio.TimeoutError is raised."""

    async def check() -> None:
        work = asyncio.ensure_future(asyncio.sleep(100))
        with pytest.raises(asyncio.TimeoutError):
            await within(0.01, work)
        assert work.cancelled()

    run(check())


def test_cancelled_wait_cancels_its_work() -> None:
    """Whoever cancels the wait cancels the work, and finds it ended."""

    async def check() -> None:
        work = asyncio.ensure_future(asyncio.sleep(100))
        task = asyncio.ensure_future(within(None, work))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        assert work.cancelled()

    run(check())
