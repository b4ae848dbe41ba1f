"""What closes a session leaves the connection alone that carries others, and the lease."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import paramiko
import pytest

from mpiboot.link import relaying
from mpiboot.link.relaying import Relay


@pytest.mark.parametrize("late", [False, True], ids=["at-once", "pipe-later"])
def test_news_that_come_while_a_session_is_closed(
    monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """The connection's thread tells of them by a pipe; a write that fails there would end it."""
    monkeypatch.setattr(relaying, "_PIPE_S", 0.1)
    faults: list[OSError] = []
    real_close = os.close

    async def main() -> tuple[int, int]:
        channel: Any = paramiko.Channel(1)
        null = os.open(os.devnull, os.O_RDWR)
        relay = Relay(channel, (null, null, null), lambda _count: None, lambda _code: None)
        relay.begin()
        pipe = channel._pipe

        def feed() -> None:
            try:
                channel._feed(b"news")
            except OSError as fault:
                faults.append(fault)

        def close(number: int) -> None:
            real_close(number)
            if number == pipe._rfd:
                feed()

        monkeypatch.setattr(os, "close", close)
        relay.close()
        if not late:
            feed()
        monkeypatch.setattr(os, "close", real_close)
        numbers = (pipe._rfd, pipe._wfd)
        assert all(os.fstat(number) for number in numbers)
        await asyncio.sleep(0.3)
        real_close(null)
        return numbers

    numbers = asyncio.run(main())
    assert faults == []
    for number in numbers:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(number)
