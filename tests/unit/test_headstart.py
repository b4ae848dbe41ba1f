"""A helper that was begun ahead is asked like any other, once, and never waited for in vain."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable

from mpiboot.runtime import headstart
from mpiboot.runtime.children import Children, Completed

ECHO = (
    sys.executable,
    "-Ic",
    "import os, sys; print(os.getpid(), sys.stdin.read())",
)


def _asked(work: Callable[[Children], Awaitable[None]]) -> None:
    async def main() -> None:
        children = Children()
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, children.reap)
        for argv, popen in headstart.taken():
            children.adopt(argv, popen)
        await work(children)

    asyncio.run(main())


async def _run(children: Children) -> Completed:
    return await children.run(ECHO, timeout_s=20, stdin=b"hello")


def test_the_next_run_asks_it_and_the_one_after_makes_its_own():
    headstart.begin(ECHO)
    begun = headstart._begun[0][1].pid

    async def work(children: Children) -> None:
        first, second = await _run(children), await _run(children)
        assert first.stdout.split() == [str(begun).encode(), b"hello"]
        assert second.stdout.split()[1] == b"hello"
        assert second.stdout.split()[0] != str(begun).encode()
        assert (first.code, second.code, children.running) == (0, 0, [])

    _asked(work)
    assert headstart.taken() == []


def test_one_that_has_died_meanwhile_is_made_anew():
    headstart.begin(ECHO)
    popen = headstart._begun[0][1]

    async def work(children: Children) -> None:
        popen.kill()
        await children.running[0].ended
        done = await _run(children)
        assert done.stdout.split()[1:] == [b"hello"]

    _asked(work)
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        assert pipe
        pipe.close()


def test_one_that_cannot_be_made_is_none():
    headstart.begin(("/nonexistent/program",))
    assert headstart.taken() == []


def test_the_maker_of_keys_ends_in_silence_when_nobody_asks_it():
    done = subprocess.run(
        headstart.KEYMAKING, input=b"", capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
