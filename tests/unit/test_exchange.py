"""A helper's pipes are fed and drained inside the loop, and no thread is left behind."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable

import pytest

from mpiboot.runtime.children import Children, Completed

MUCH = bytes(range(256)) * 4096  # 1 MiB: many times what a pipe holds
BACK = "import sys; d = sys.stdin.buffer.read(); sys.stdout.buffer.write(d); sys.stderr.buffer.write(d)"
DEAF = "import os; os.close(0); os.write(1, b'deaf')"


def _asked(work: Callable[[Children], Awaitable[None]]) -> None:
    async def main() -> None:
        children = Children()
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, children.reap)
        await work(children)

    asyncio.run(main())


async def _run(children: Children, code: str, stdin: bytes, timeout_s: float = 30) -> Completed:
    argv = [sys.executable, "-Ic", code]
    return await children.run(argv, timeout_s=timeout_s, stdin=stdin)


def test_more_than_a_pipe_holds_goes_in_and_comes_back_on_both() -> None:
    """Whatever the order in which the child reads and writes."""

    async def work(children: Children) -> None:
        before = threading.active_count()
        done = await _run(children, BACK, MUCH)
        assert (done.code, done.stdout, done.stderr) == (0, MUCH, MUCH)
        assert threading.active_count() == before

    _asked(work)


@pytest.mark.parametrize("stdin", [b"", b"x", MUCH])
def test_a_helper_that_does_not_listen(stdin: bytes) -> None:
    """What it says counts all the same."""

    async def work(children: Children) -> None:
        done = await _run(children, DEAF, stdin)
        assert (done.code, done.stdout, done.stderr) == (0, b"deaf", b"")

    _asked(work)


def test_one_that_takes_too_long_tells_what_it_had_said() -> None:
    """Killed with its group, code 137."""

    async def work(children: Children) -> None:
        code = "import os, time; os.write(1, b'begun'); time.sleep(60)"
        done = await _run(children, code, MUCH, timeout_s=1)
        assert (done.code, done.stdout) == (137, b"begun")

    _asked(work)


def test_who_is_cancelled_leaves_no_child_on_a_full_pipe() -> None:
    """It can end, and is reaped."""

    async def work(children: Children) -> None:
        asking = asyncio.ensure_future(_run(children, BACK, MUCH))
        await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait({asking})
        assert asking.cancelled()
        (child,) = children.running
        assert await child.ended == 0

    _asked(work)
