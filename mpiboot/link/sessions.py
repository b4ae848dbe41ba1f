"""Sessions of other programs' ssh over a lease: no further login, no further connection.

Each worker has a socket that its `ControlPath` in ssh_config names. An ssh that finds nobody there,
or is refused, makes a connection of its own.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from mpiboot.link import muxwire
from mpiboot.link.muxwire import Asked, MuxError
from mpiboot.link.relaying import Relay

if TYPE_CHECKING:
    from mpiboot.link.client import Lease

_CHUNK = 65536
_BACKLOG = 128
_SHORT_S = 0.1  # until a connection is tried to be taken again
_SESSION = 1  # its number: a connection of ssh has but one
_NOBODY = 1  # in place of our process number: see muxwire.alive
_LONGEST_PATH = 107
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Sessions:
    """The sockets of all workers of an attempt; made and used inside the loop.

    Args:
        directory: private; the sockets are made there.
        threads: in which a session is opened, as that waits for the worker.
        timeout_s: bound of the opening.
    """

    def __init__(self, directory: Path, threads: Executor, timeout_s: float) -> None:
        self._directory = directory
        self._threads = threads
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._listening: dict[str, socket.socket] = {}
        self._made = 0
        self._open: set[_Session] = set()

    def share(self, name: str, lease: Lease) -> str:
        """Listen for those who want a session over a lease.

        Args:
            name: of the host.
            lease: to it.

        Returns:
            the socket's path; empty where a path like this is too long for a socket.
        """
        path = self._directory / str(self._made)
        if len(str(path)) > _LONGEST_PATH:
            return ""
        path.unlink(missing_ok=True)
        self._made += 1
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.setblocking(False)
        listening.bind(str(path))
        listening.listen(_BACKLOG)
        self._listening[name] = listening
        self._loop.add_reader(listening, self._accept, listening, lease)
        return str(path)

    def forget(self, name: str) -> None:
        """Listen for a host no more, whose lease is lost: an ssh that finds no socket asks nobody."""
        listening = self._listening.pop(name, None)
        if listening is not None:
            self._loop.remove_reader(listening)
            Path(listening.getsockname()).unlink(missing_ok=True)
            listening.close()

    def close(self) -> None:
        """End what is open; nobody is listened to any more."""
        for name in list(self._listening):
            self.forget(name)
        for session in list(self._open):
            session.close()

    def _accept(self, listening: socket.socket, lease: Lease) -> None:
        try:
            connection, _ = listening.accept()
        except BlockingIOError:  # it has gone away again
            return
        except (
            OSError
        ):  # no descriptor is left: it waits, and so do we, or we would be asked for ever
            self._loop.remove_reader(listening)
            self._loop.call_later(_SHORT_S, self._hear_again, listening, lease)
            return
        session = _Session(connection, lease, self._threads, self._timeout_s)
        session.on_closed = self._open.discard
        self._open.add(session)
        session.begin()

    def _hear_again(self, listening: socket.socket, lease: Lease) -> None:
        if listening in self._listening.values():
            self._loop.add_reader(listening, self._accept, listening, lease)


class _Session:
    """One ssh that has connected, and the session that it asks for."""

    def __init__(
        self, connection: socket.socket, lease: Lease, threads: Executor, timeout_s: float
    ) -> None:
        self._connection = connection
        self._lease = lease
        self._threads = threads
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._descriptors: list[int] = []
        self._asked: Asked | None = None
        self._opening: asyncio.Task[None] | None = None
        self._relay: Relay | None = None
        self._closed = False
        self.on_closed: Callable[[_Session], None] = lambda _session: None

    def begin(self) -> None:
        """Greet, and hear what is wanted."""
        self._connection.setblocking(False)
        self._loop.add_reader(self._connection, self._readable)
        self._send(muxwire.hello())

    def close(self) -> None:
        """End the session, and the connection of the ssh with it."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._connection)
        if self._relay is not None:
            self._relay.close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()
        self._connection.close()
        self.on_closed(self)

    def _send(self, data: bytes) -> None:
        try:
            sent = self._connection.send(data)
        except OSError:
            sent = 0
        if sent < len(data):  # a few bytes that do not fit: nobody reads them
            self.close()

    def _readable(self) -> None:
        data, gone = b"", False
        try:
            data = self._receive()
            gone = not data
        except BlockingIOError:
            return
        except OSError:
            gone = True
        self._buffer += data
        try:
            while not gone and self._advance():
                pass
        except MuxError:
            gone = True
        if gone:
            self.close()

    def _receive(self) -> bytes:
        """Receive bytes, and descriptors with them."""
        number = array.array("i")
        room = socket.CMSG_SPACE(muxwire.DESCRIPTORS * number.itemsize)
        data, told, _, _ = self._connection.recvmsg(_CHUNK, room, _CLOEXEC)
        for level, kind, content in told:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                number.frombytes(content[: len(content) - len(content) % number.itemsize])
        self._descriptors += number
        return data

    def _advance(self) -> bool:
        """Act on the next thing that has come; tell whether there was one.

        Raises:
            MuxError: it is nonsense.
        """
        if self._closed or self._opening is not None:
            return False
        if self._asked is not None:
            if len(self._buffer) < muxwire.DESCRIPTORS:
                return False
            del self._buffer[: muxwire.DESCRIPTORS]
            if len(self._descriptors) != muxwire.DESCRIPTORS:
                raise MuxError("a session without its three descriptors")
            self._opening = self._loop.create_task(self._open(self._asked))
            return False
        asked = muxwire.take(self._buffer)
        if asked is None:
            return False
        if asked.kind == muxwire.ALIVE_CHECK:
            self._send(muxwire.alive(asked.request, _NOBODY))
        elif asked.kind == muxwire.NEW_SESSION:
            self._asked = asked
        elif asked.kind != muxwire.HELLO:
            self._send(muxwire.failure(asked.request, "only sessions are shared"))
        return True

    async def _open(self, asked: Asked) -> None:
        if not asked.plain:
            self._refuse(asked, "only commands without a terminal")
            return
        dial = self._lease.run_command
        try:
            channel = await self._loop.run_in_executor(
                self._threads, dial, asked.command, self._timeout_s
            )
        except Exception as fault:  # noqa: BLE001 - paramiko has many, and ssh helps itself
            self._refuse(asked, str(fault) or type(fault).__name__)
            return
        if self._closed:
            channel.close()
            return
        self._send(muxwire.opened(asked.request, _SESSION))
        stdin, stdout, stderr = self._descriptors
        ends = (stdin, stdout, stderr)
        self._relay = Relay(channel, ends, self._lease.passed_on, self._ended)
        self._relay.begin()

    def _refuse(self, asked: Asked, why: str) -> None:
        if not self._closed:
            self._send(muxwire.failure(asked.request, why))
            self.close()

    def _ended(self, code: int | None) -> None:
        if not self._closed and code is not None:
            self._send(muxwire.ended(_SESSION, code))
        self.close()
