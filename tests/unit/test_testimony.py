"""A worker testifies once it has read what its ranks have written, without a pause by the clock."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from mpiboot.link import messages, server
from mpiboot.link.messages import Message
from mpiboot.roles import worker


def test_a_ranks_report_is_read_in_fewer_turns_of_the_loop_than_a_testimony_waits(
    tmp_path: Path,
) -> None:
    """It lies in the socket, behind a connection that nobody has accepted yet."""
    heard: list[Message] = []

    async def main() -> int:
        link = server.without_leases(lambda _: "", heard.append, lambda *_: None)
        await link.start(tmp_path / "s")
        loop, turns = asyncio.get_running_loop(), 0
        with socket.socket(socket.AF_UNIX) as rank:
            rank.connect(str(tmp_path / "s"))
            rank.sendall(messages.rank_message({"rank": 0, "event": "started"}).encode())
            rank.sendall(messages.rank_message({"rank": 0, "event": "ended", "code": 3}).encode())
            while len(heard) < 2:
                turned = loop.create_future()
                loop.call_soon(turned.set_result, None)
                await turned
                turns += 1
                assert turns < 1000
        link.stop()
        return turns

    turns = asyncio.run(main())
    assert [one.text("event") for one in heard] == ["started", "ended"]
    assert turns * 2 <= worker._TURNS
