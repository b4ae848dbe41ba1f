"""A small read-only HTTP server for probes, metrics and a page: no action, bounded size and time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.record import dataclass
from mpiboot.runtime.within import within

_HEAD_LIMIT = 8192
_TIMEOUT_S = 5.0
_CLIENTS = 64
_STREAMS = 32  # each costs the making of what it is told
_LAST_S = 1.0  # for the last words of a stream


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Status, body and content type of an answer."""

    status: int
    body: str
    content_type: str = "text/plain; charset=utf-8"


@dataclass(frozen=True, kw_only=True)
class Stream:
    """An answer that goes on: server-sent events, until they end or the client leaves."""

    events: AsyncIterator[bytes]


Route = Callable[[], Reply | Stream]
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed",
            503: "Service Unavailable"}  # fmt: skip


class HttpServer:
    """Serve GET and HEAD for a fixed table of paths."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._routes = routes
        self._server: asyncio.Server | None = None
        self._waiting: dict[asyncio.StreamWriter, None] = {}
        self._places = _STREAMS
        self._streams: set[asyncio.Task[None]] = set()

    async def start(self, port: int) -> None:
        """Listen on all addresses.

        Raises:
            ConfigError: the port cannot be bound.
        """
        try:
            self._server = await asyncio.start_server(self._serve, port=port, limit=_HEAD_LIMIT)
        except OSError as fault:
            raise ConfigError(
                f"cannot listen on HTTP port {port}: {fault.strerror or fault}",
                hint="choose another with --http-port, or 0 for none",
            ) from fault

    async def part(self) -> None:
        """Let the streams say their last words; whoever made them has ended them."""
        if self._streams:
            await asyncio.wait(self._streams, timeout=_LAST_S)

    def stop(self) -> None:
        """Close the port, and the streams that are left."""
        for task in self._streams:
            task.cancel()
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client; who comes when all places are taken gets that of the slowest.

        A probe asks at once and is gone in a moment: those who only hold a place must not keep it out.
        """
        self._waiting[writer] = None
        if len(self._waiting) > _CLIENTS:
            slowest = next(iter(self._waiting))
            del self._waiting[slowest]
            slowest.transport.abort()
        try:
            going_on = await within(_TIMEOUT_S, self._answer(reader, writer))
            if going_on is not None:
                self._waiting.pop(writer, None)  # it is no probe, and keeps none out
                await self._stream(going_on, reader, writer)
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, ValueError,
                asyncio.LimitOverrunError):  # fmt: skip
            writer.transport.abort()  # one that reads nothing would keep its answer in our memory
        finally:
            self._waiting.pop(writer, None)
            with contextlib.suppress(OSError):
                writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Stream | None:
        """Answer once, or return what goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        reply = self._route(words)
        if isinstance(reply, Stream):
            if words[0] != "HEAD" and self._places:
                self._places -= 1
                return reply
            reply = Reply(status=503, body="too many look on\n", content_type="text/plain")
        self._write(reply, writer, whole=words[0] != "HEAD")
        await writer.drain()
        return None

    def _write(self, reply: Reply, writer: asyncio.StreamWriter, *, whole: bool) -> None:
        body = reply.body.encode(errors="replace")
        lines = (
            f"HTTP/1.1 {reply.status} {_REASONS[reply.status]}",
            f"Content-Type: {reply.content_type}",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            "Connection: close",
        )
        writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
        if whole:
            writer.write(body)

    async def _stream(
        self, stream: Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Send events as they come; who does not read them in time is cut off."""
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Cache-Control: no-store\r\nX-Accel-Buffering: no\r\nConnection: close\r\n\r\n"
        )

        async def send() -> None:
            async for event in stream.events:
                writer.write(event)
                await within(_TIMEOUT_S, writer.drain())

        sending = asyncio.ensure_future(send())
        self._streams.add(sending)
        left = asyncio.ensure_future(reader.read(1))  # it says nothing more, or has gone
        try:
            await asyncio.wait({sending, left}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done() or sending.exception() is not None:
                writer.transport.abort()  # it has gone, or does not read: nothing waits for it
        finally:
            self._streams.discard(sending)
            self._places += 1
            for task in (sending, left):
                task.cancel()
            await asyncio.gather(sending, left, return_exceptions=True)

    def _route(self, words: list[str]) -> Reply | Stream:
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return Reply(status=400, body="not HTTP/1\n")
        if words[0] not in ("GET", "HEAD"):
            return Reply(status=405, body="read-only\n")
        route = self._routes.get(words[1].split("?", 1)[0])
        return route() if route else Reply(status=404, body="no such page\n")
