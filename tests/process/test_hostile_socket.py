"""The agent's socket and its HTTP port, real ones, under clients that mean harm: bounded, and still there."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.server import Callbacks, Lease, LinkServer, ask
from mpiboot.roles import called
from mpiboot.runtime.http import HttpServer, Reply
from mpiboot.runtime.within import within

HARD_S = 20.0  # far more than any of it takes


class Rig:
    """A link server that keeps what it is told."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "link"
        self.ranks: list[Message] = []
        self.news = asyncio.Event()
        self.closed: list[str] = []
        self.faults: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: self.faults.append(what))
        callbacks = Callbacks(
            on_open=lambda _lease, _message: None,
            on_message=lambda _lease, _message: None,
            on_close=lambda _lease, why: self.closed.append(why),
            on_probe=lambda _what: "",
            on_rank=self._hear,
            on_control=lambda lease, message: lease.send(message),
        )
        self.server = LinkServer(callbacks, beat_s=0.5, lost_s=5.0)

    def _hear(self, message: Message) -> None:
        self.ranks.append(message)
        self.news.set()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(str(self.path))

    async def send(self, data: bytes) -> bytes:
        """Send, end, and return all that comes back; a connection that is cut ends it, too."""
        reader, writer = await self.connect()
        try:
            writer.write(data)
            writer.write_eof()
            return await within(HARD_S, reader.read())
        except ConnectionError:
            return b""
        finally:
            writer.close()


def rigged(directory: Path, work: Callable[[Rig], Awaitable[None]]) -> Rig:
    """Run a test against a server; it must be alive afterwards, without a fault that nobody caught."""

    async def run() -> Rig:
        rig = Rig(directory)
        await rig.server.start(rig.path)
        await within(3 * HARD_S, work(rig))
        assert await ask(rig.path, "live") == ""
        rig.server.stop()
        await asyncio.sleep(0)
        assert rig.faults == []
        return rig

    return asyncio.run(run())


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def line(kind: str, **body: Any) -> bytes:
    return Message(kind=kind, body=body).encode()


GARBAGE = [
    b"\0" * 1_000_000,
    os.urandom(300_000),
    b"\n" * 4000,
    b"[" * 200_000 + b"\n",
    b'{"v":2,"kind":"rank"' + b" " * 500_000,
    line("rank", rank=[1], event="started"),
    line("rank", rank={"a": 1}, event="ended"),
    line("rank", rank=None, event="unheard"),
    line("rank", rank=1, event="started", wrapper=[1], err={}, pid="x"),
    line("rank", rank=1, event=["started"]),
    line("control", do=[1], command={"a": 1}),
    line("announce", address=1, port="x", index=[]),
    line("hello", launcher=1, id=[], time_ms=1e308, late_ms=-(2**80)),
    line("hello", id="x") + line("over", code="x", final=1),
    line("probe", **{"for": [1]}),
]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_no_bytes_on_the_agents_socket_raise(tmp_path: Path, data: bytes) -> None:
    """Garbage, huge lines, fields of wrong types: counted or left out, and the agent answers the next."""

    async def work(rig: Rig) -> None:
        await rig.send(data)

    rigged(tmp_path, work)


@pytest.mark.parametrize(
    "flood",
    [b"junk\n", b"\n", line("rank", rank=0, event="started"), line("control", do="run"), line("hello", id="x")],
    ids=["junk", "newlines", "reports", "commands", "hellos"],
)  # fmt: skip
def test_a_flood_is_cut(tmp_path: Path, flood: bytes) -> None:
    """100,000 lines of one kind: the connection is ended before they are through."""

    async def work(rig: Rig) -> None:
        await rig.send(flood * 100_000)
        assert len(rig.ranks) <= 10_000

    rigged(tmp_path, work)


def test_a_connection_speaks_for_one_rank(tmp_path: Path) -> None:
    """It cannot fill tables with ranks, or open a file for each of them."""

    async def work(rig: Rig) -> None:
        files = open_files()
        reports = [
            line("rank", rank=rank, event="started", wrapper=os.getpid(), err=0, pid=os.getpid())
            for rank in range(1000)
        ]
        reader, writer = await rig.connect()
        writer.write(b"".join(reports))
        writer.write(line("probe"))
        await within(HARD_S, reader.readline())
        assert open_files() <= files + 8
        writer.close()
        assert {one.body["rank"] for one in rig.ranks} == {0}

    rigged(tmp_path, work)


def test_last_words_are_a_file_of_bounded_size(tmp_path: Path) -> None:
    """What a rank's user has put in the place of its kept words is read to its end, 4 KiB, or not at all."""

    async def work(rig: Rig) -> None:
        with (tmp_path / "said.7").open("wb") as file:
            file.truncate(1 << 40)
        (tmp_path / "said.8").symlink_to("/dev/zero")
        os.mkfifo(tmp_path / "said.9")
        for pid in (7, 8, 9):
            await rig.send(line("rank", rank=pid, event="started", pid=pid))
        while len(rig.ranks) < 6:
            rig.news.clear()
            await within(HARD_S, rig.news.wait())
        ended = [one for one in rig.ranks if one.body["event"] == "ended"]
        assert [len(str(one.body["stderr"])) for one in ended] == [4096, 0, 0]

    rigged(tmp_path, work)


def test_who_does_not_read_takes_no_memory(tmp_path: Path) -> None:
    """Answers to a client that only asks are given up beyond some megabytes."""

    async def work(rig: Rig) -> None:
        reader, writer = await rig.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        lease = Lease(writer=writer)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        _, lease.writer = await asyncio.open_unix_connection(sock=ours)
        tracemalloc.start()
        for _ in range(2000):
            lease.send(Message(kind=messages.CONTROL, body={"text": "x" * 60_000}))
            lease.flush()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept < 32 << 20
        assert lease.writer.transport.is_closing()
        theirs.close()
        writer.close()
        del reader

    rigged(tmp_path, work)


@pytest.mark.parametrize(
    ("address", "port"),
    [("localhost", 22), ("a..b", 22), ("\u0660.0.0.1", 22), ("127.0.0.1", 0), ("127.0.0.1", True),
     ("127.0.0.1", 70000), ("-oProxyCommand=x", 22), ("", 22), ("127.0.0.1", "22")],
)  # fmt: skip
def test_a_worker_connects_to_addresses_only(address: str, port: object) -> None:
    """A launcher's order to connect somewhere is followed for an address and a port, and nothing else."""
    sent: list[Message] = []

    class Quiet:
        def send(self, message: Message) -> None:
            sent.append(message)

    body = {"address": address, "port": port}
    answering = called.answer(Quiet(), Message(kind=messages.CALL, body=body))  # type: ignore[arg-type]
    asyncio.run(answering)
    assert sent == []


async def get(port: int, path: str = "/livez") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
    try:
        return await within(HARD_S, reader.read())
    finally:
        writer.close()


def served(work: Callable[[int], Awaitable[None]]) -> None:
    """Run a test against a real HTTP server."""

    async def run() -> None:
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = probe.getsockname()[1]
        server = HttpServer(
            {
                "/livez": lambda: Reply(status=200, body="yes\n"),
                "/big": lambda: Reply(status=200, body="x" * (16 << 20)),
            }
        )
        await server.start(port)
        faults: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: faults.append(what))
        await within(3 * HARD_S, work(port))
        server.stop()
        assert faults == []

    asyncio.run(run())


def test_slow_clients_do_not_keep_a_probe_out() -> None:
    """Hundreds of connections that send a header a byte at a time: each probe between them is answered."""

    async def work(port: int) -> None:
        slow = []
        for number in range(300):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /livez HTTP/1.1\r\nX: ")
            slow.append(writer)
            if number % 50 == 49:
                assert (await get(port)).endswith(b"yes\n")
        for writer in slow:
            writer.close()

    served(work)


def test_a_client_that_never_reads_is_let_go() -> None:
    """Its answer does not stay in our memory: our end is closed once its time is over."""

    async def work(port: int) -> None:
        files = open_files()
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(client, b"GET /big HTTP/1.1\r\n\r\n")
            await asyncio.sleep(0.1)
            assert open_files() == files + 2
            deadline = loop.time() + HARD_S
            while open_files() > files + 1:  # nothing is read meanwhile
                assert loop.time() < deadline, "it is still served"
                await asyncio.sleep(0.1)

    served(work)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /livez HTTP/1.1\r\n" + b"X: " + b"a" * 100_000,
        b"POST /livez HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
        b"DELETE /livez HTTP/1.1\r\n\r\n",
        b"GET http://x/livez HTTP/1.1\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\n\r\n",
        b"\xff" * 100 + b"\r\n\r\n",
        b"GET  /livez\r\n\r\n",
        b"\r\n\r\n",
        b"GET /livez HTTP/2\r\n\r\n",
        b"\x16\x03\x01" + os.urandom(500),
    ],
    ids=range(10),
)
def test_no_request_has_an_effect(head: bytes) -> None:
    """Other methods, other paths, huge heads, no HTTP: refused or cut, and the next one is answered."""

    async def work(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(head)
            writer.write_eof()
            answer = await within(HARD_S, reader.read())
        except ConnectionError:
            answer = b""
        assert not answer or answer.split()[1] in (b"400", b"404", b"405")
        writer.close()
        assert json.loads(json.dumps((await get(port)).decode())).endswith("yes\n")

    served(work)
