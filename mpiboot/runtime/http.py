"""A small read-only HTTP server for probes and metrics: no action, bounded size and time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.record import dataclass
from mpiboot.runtime.within import within

_HEAD_LIMIT = 8192
_TIMEOUT_S = 5.0
_CLIENTS = 64


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Status, body and content type of an answer."""

    status: int
    body: str
    content_type: str = "text/plain; charset=utf-8"


Route = Callable[[], Reply]
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed",
            503: "Service Unavailable"}  # fmt: skip


class HttpServer:
    """Serve GET and HEAD for a fixed table of paths."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._routes = routes
        self._server: asyncio.Server | None = None
        self._waiting: dict[asyncio.StreamWriter, None] = {}

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

    def stop(self) -> None:
        """Close the port."""
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
            await within(_TIMEOUT_S, self._answer(reader, writer))
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, ValueError,
                asyncio.LimitOverrunError):  # fmt: skip
            writer.transport.abort()  # one that reads nothing would keep its answer in our memory
        finally:
            self._waiting.pop(writer, None)
            with contextlib.suppress(OSError):
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        reply = self._route(words)
        body = reply.body.encode(errors="replace")
        lines = (
            f"HTTP/1.1 {reply.status} {_REASONS[reply.status]}",
            f"Content-Type: {reply.content_type}",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            "Connection: close",
        )
        writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
        if words[0] != "HEAD":
            writer.write(body)
        await writer.drain()

    def _route(self, words: list[str]) -> Reply:
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return Reply(status=400, body="not HTTP/1\n")
        if words[0] not in ("GET", "HEAD"):
            return Reply(status=405, body="read-only\n")
        route = self._routes.get(words[1].split("?", 1)[0])
        return route() if route else Reply(status=404, body="no such page\n")
