"""Feed and drain the pipes of a short helper inside the loop: a thread for each would stay in memory."""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import IO

_CHUNK = 65536


async def exchange(popen: subprocess.Popen[bytes], stdin: bytes) -> tuple[bytes, bytes]:
    """Give a child its input and return its output and its errors, once it has closed both.

    Whoever is cancelled while it waits leaves the pipes to be drained: a child must not hang on them.

    Args:
        popen: with pipes for all three streams.
        stdin: all of its input; who does not read it does not get it.
    """
    assert popen.stdin and popen.stdout and popen.stderr  # noqa: S101, PT018 - the caller's pipes
    _feed(popen.stdin, stdin)
    stdout, stderr = await asyncio.gather(_drained(popen.stdout), _drained(popen.stderr))
    return stdout, stderr


def _feed(pipe: IO[bytes], data: bytes) -> None:
    loop, left, fd = asyncio.get_running_loop(), memoryview(data), pipe.fileno()
    os.set_blocking(fd, False)

    def write() -> None:
        nonlocal left
        try:
            left = left[os.write(fd, left) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            left = left[:0]
        if not left:
            loop.remove_writer(fd)
            pipe.close()

    if data:
        loop.add_writer(fd, write)
    else:
        pipe.close()


def _drained(pipe: IO[bytes]) -> asyncio.Future[bytes]:
    loop, kept, fd = asyncio.get_running_loop(), bytearray(), pipe.fileno()
    ended: asyncio.Future[bytes] = loop.create_future()
    os.set_blocking(fd, False)

    def read() -> None:
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return
        kept.extend(chunk)
        if chunk:
            return
        loop.remove_reader(fd)
        pipe.close()
        if not ended.done():
            ended.set_result(bytes(kept))

    loop.add_reader(fd, read)
    return ended
