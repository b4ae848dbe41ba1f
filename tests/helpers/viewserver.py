"""A small server of the page and its stream for tests: shows whatever document it is given."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mpiboot.report import page


class ViewServer:
    """Serve `GET /`, `/view.json` and `/events` on a free port of the loopback.

    Attributes:
        asked: the paths that were asked for.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._changed = threading.Condition()
        self._document = ""
        self._number = 0
        self._over = False
        self._broken = False
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/"

    def show(self, document: dict[str, Any], *, over: bool = False) -> None:
        """Send a document to all who listen, and to those who come later; `over`: it is the last."""
        with self._changed:
            self._document = json.dumps(document)
            self._number += 1
            self._over = over
            self._changed.notify_all()

    def cut(self, *, broken: bool = True) -> None:
        """End all streams and refuse new ones, or let them in again."""
        with self._changed:
            self._broken = broken
            self._changed.notify_all()

    def stop(self) -> None:
        """End all streams and close the port."""
        self.cut()
        self._http.shutdown()
        self._http.server_close()

    def stream(self, handler: BaseHTTPRequestHandler) -> None:
        """Send each document as it comes, until it is cut or over."""
        number = 0
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._send(handler, number)

    def _send(self, handler: BaseHTTPRequestHandler, number: int) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda seen=number: self._broken or self._number != seen)  # type: ignore[misc]
                if self._broken:
                    return
                number, text, over = self._number, self._document, self._over
            handler.wfile.write(f"event: view\ndata: {text}\n\n".encode())
            if over:
                handler.wfile.write(b"event: end\ndata: {}\n\n")
                return

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                if self.path == "/":
                    self._reply(page.text(), "text/html; charset=utf-8")
                elif self.path == "/view.json":
                    self._reply(server._document, "application/json")
                elif self.path == "/events" and not server._broken:
                    self._reply(None, "text/event-stream")
                    server.stream(self)
                else:
                    self.send_error(503 if self.path == "/events" else 404)

            def _reply(self, body: str | None, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                if body is not None:
                    self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                pass

        return Handler
