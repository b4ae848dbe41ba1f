"""The worker's end of leases: a unix socket of PID 1, on which bridges and probes knock."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

from mpiboot.errors import ConfigError
from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.said import Said
from mpiboot.log import logger
from mpiboot.model.record import dataclass, field
from mpiboot.plan.clocks import Clock
from mpiboot.plan.flood import Allowance
from mpiboot.runtime.within import within

_CLIENTS = 4096  # one for each rank of this container, too
# Of one connection. A launcher answers each mark of a rank's output, and that may be any number.
_LINES, _LINES_PER_S = 5000, 200
_UNREAD = 8 << 20  # bytes that wait for a peer that does not read
_PROBE_TIMEOUT_S = 5.0
_NO_LAUNCHER = "a worker runs here: announce the node to the launcher"
_UCRED = struct.Struct("iii")  # process, user, group: unix(7)


class FloodError(Exception):
    """More came than anybody has to say."""


@dataclass(eq=False)
class Lease:
    """One launcher that holds this worker.

    Attributes:
        launcher: what people call it.
        launcher_id: what it calls itself.
        clock: of the launcher's machine.
        pid: of the bridge that carries the connection; 0 when the kernel does not tell.
        asks: whether it is somebody in this container, who waits for answers.
        over: whether it has said that its attempt is over.
        number: of the rank whose wrapper it is; None: it is none.
        lines: how many it may still send.
    """

    writer: asyncio.StreamWriter
    launcher: str = ""
    launcher_id: str = ""
    pid: int = 0
    heard_at: float = 0.0
    clock: Clock = field(default_factory=Clock, repr=False)
    junk: int = 0
    beat: asyncio.TimerHandle | None = field(default=None, repr=False)
    rank: Message | None = None
    number: int | None = None
    said: Said | None = field(default=None, repr=False)
    lines: Allowance = field(default_factory=lambda: Allowance(_LINES, _LINES_PER_S), repr=False)
    _outbox: bytearray = field(default_factory=bytearray, repr=False)
    asks: bool = False
    over: bool = False

    def send(self, message: Message) -> None:
        """Send a line soon; a peer that is gone is noticed by the reader.

        The way leads twice through the loop: after a stall, what has arrived meanwhile is read first.
        A write to a launcher that has gone would throw its last words away.
        """
        if not self._outbox:
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self.flush)
        self._outbox += message.encode()

    def flush(self) -> None:
        """Send now what is still to be sent; who does not read what he gets is cut off."""
        lines, self._outbox = bytes(self._outbox), bytearray()
        if self.writer.transport.get_write_buffer_size() > _UNREAD:
            self.writer.transport.abort()
            return
        with contextlib.suppress(OSError, RuntimeError):
            if lines:
                self.writer.write(lines)


def _nothing_to_see(_client: Lease, _message: Message) -> None:
    """Leave unanswered who wants to see a job where none is."""


def _refuse(client: Lease, _message: Message) -> None:
    """Answer an announcement where no launcher runs."""
    client.send(messages.heard_message(_NO_LAUNCHER))


@dataclass(frozen=True, kw_only=True)
class Callbacks:
    """What the role wants to be told.

    Attributes:
        on_open: a launcher said hello.
        on_message: it said something else.
        on_close: the connection is gone or fell silent; with the reason.
        on_probe: answers a probe for `ready` or `live`: empty text for yes, else the reason.
        on_rank: a rank's wrapper beside us reports.
        on_control: somebody in this container asks for something.
        on_announce: a node says where it is, and waits for an answer.
        on_view: somebody in this container wants to see the job.
        beat: what our own heartbeats say beside being there.
    """

    on_open: Callable[[Lease, Message], None]
    on_message: Callable[[Lease, Message], None]
    on_close: Callable[[Lease, str], None]
    on_probe: Callable[[str], str]
    on_rank: Callable[[Message], None]
    on_control: Callable[[Lease, Message], None]
    on_announce: Callable[[Lease, Message], None] = _refuse
    on_view: Callable[[Lease, Message], None] = _nothing_to_see
    beat: Callable[[], Mapping[str, object]] = dict


class LinkServer:
    """Accept bridges and probes; keep the leases' heartbeats.

    Attributes:
        leases: of launchers.
        wrappers: of ranks whose wrapper is there; their `rank` is None once the program has ended.
        on_wrapper: is told of each further one.
    """

    def __init__(self, callbacks: Callbacks, *, beat_s: float, lost_s: float) -> None:
        self._on = callbacks
        self._beat_s = beat_s
        self._lost_s = lost_s
        self._server: asyncio.Server | None = None
        self._clients = 0
        self._directory = Path()
        self.leases: set[Lease] = set()
        self.wrappers: set[Lease] = set()
        self.on_wrapper: Callable[[Lease], None] = lambda _lease: None
        self._ranks: dict[int, Lease] = {}

    def tell_rank(self, message: Message) -> None:
        """Send a message to the wrapper of the rank that it names, if that is of this container."""
        rank = message.body.get("rank")
        if isinstance(rank, int) and rank in self._ranks:
            self._ranks[rank].send(message)

    async def start(self, path: Path) -> None:
        """Listen on a socket in the private directory.

        Raises:
            ConfigError: another agent answers there, or the path cannot be used.
        """
        if path.exists() and await ask(path, "live") is not None:
            raise ConfigError(
                f"another mpiboot runs here already ({path})", hint="set MPIBOOT_RUNTIME_DIR"
            )
        self._directory = path.parent
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        try:
            self._server = await asyncio.start_unix_server(
                self._serve, path=str(path), limit=messages.MAX_LINE
            )
        except OSError as fault:
            raise ConfigError(
                f"cannot listen on {path}: {fault}", hint="set a shorter MPIBOOT_RUNTIME_DIR"
            ) from fault
        path.chmod(0o600)

    def drop(self, lease: Lease, last: Message) -> None:
        """Say a last word to a launcher that has no right here any more, and close."""
        lease.send(last)
        lease.flush()
        lease.writer.close()

    def stop(self) -> None:
        """Close the socket and every lease."""
        if self._server is not None:
            self._server.close()
        for lease in list(self.leases):
            lease.flush()
            self._close(lease, "the worker leaves")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lease = Lease(writer=writer, pid=_peer(writer))
        self._clients += 1
        reason = "the connection was closed"
        try:
            if self._clients <= _CLIENTS:
                await self._converse(reader, lease)
        except asyncio.TimeoutError:  # an OSError too, from Python 3.11 on
            reason = f"silent for {self._lost_s:g} s"
        except FloodError:
            reason = "it floods this agent"
            logger.warning("a connection of process %s is cut: %s", lease.pid or "unknown", reason)
        except (OSError, asyncio.IncompleteReadError):
            reason = "the connection broke"
        finally:
            self._clients -= 1
            self._close(lease, reason)
            self._orphaned(lease)
            with contextlib.suppress(OSError):
                writer.close()

    async def _converse(self, reader: asyncio.StreamReader, lease: Lease) -> None:
        """Take in whole chunks: a write of ours that fails spoils the reader for a next line.

        So a worker that was stalled still hears the last words of a launcher that has gone.
        """
        buffer = bytearray()
        while True:
            # A rank may run for days, and so may the job that somebody waits for.
            patience_s = None if lease.rank is not None or lease.asks else self._lost_s
            chunk = await within(patience_s, reader.read(messages.MAX_LINE))
            buffer += chunk
            *lines, rest = buffer.split(b"\n")
            for line in lines:
                if not self._take(bytes(line), lease):
                    lease.flush()
                    await lease.writer.drain()
                    return
            buffer = rest[: messages.MAX_LINE + 1]  # longer than any message: junk
            if not chunk:
                return

    def _take(self, line: bytes, lease: Lease) -> bool:
        """Act on one line; tell whether more may come."""
        message = messages.decode(line)
        told_rank = message is not None and message.kind == messages.RANK and lease in self.leases
        if not told_rank and not lease.lines.take(1, asyncio.get_running_loop().time()):
            raise FloodError
        if message is None:
            lease.junk += 1
            if messages.foreign_version(line):
                # Any line of ours tells the other side that the versions differ.
                lease.send(Message(kind=messages.BEAT))
        elif message.kind == messages.PROBE:
            reason = self._on.on_probe(message.text("for"))
            lease.send(Message(kind=messages.PROBE, body={"ok": not reason, "reason": reason}))
            return False
        elif message.kind == messages.RANK and lease not in self.leases:
            self._rank_reports(lease, message)
        elif message.kind == messages.CONTROL and lease not in self.leases:
            lease.asks = True
            self._on.on_control(lease, message)
        elif message.kind == messages.ANNOUNCE and lease not in self.leases:
            self._on.on_announce(lease, message)
        elif message.kind == messages.VIEW and lease not in self.leases:
            lease.asks = True
            self._on.on_view(lease, message)
        else:
            self._heard(lease, message)
        return True

    def _rank_reports(self, lease: Lease, message: Message) -> None:
        """Take a report of the one rank whose wrapper this connection belongs to."""
        event, rank = message.body.get("event"), message.body.get("rank")
        if not isinstance(rank, int) or lease.number not in (None, rank):
            lease.junk += 1
            return
        lease.number = rank
        if lease.said is not None and event in ("ended", "unheard"):
            lease.said.close()
        if event == "unheard":
            return
        started = event == "started"
        lease.rank = message if started else None
        if started and lease.said is None:
            lease.said = Said(self._directory, message)
            self.wrappers.add(lease)
            self.on_wrapper(lease)
        self._ranks[rank] = lease
        self._on.on_rank(messages.rank_message(message.body))

    def _orphaned(self, lease: Lease) -> None:
        """Report the end of a rank whose wrapper cannot: only SIGKILL takes it without a word."""
        self._ranks = {rank: one for rank, one in self._ranks.items() if one is not lease}
        self.wrappers.discard(lease)
        if lease.rank is not None and lease.said is not None:
            ended = {"rank": lease.rank.body.get("rank"), "event": "ended", "signal": 9}
            told = messages.stamped({**ended, "stderr": lease.said.text()})
            self._on.on_rank(messages.rank_message(told))
        if lease.said is not None:
            lease.said.close()

    def _heard(self, lease: Lease, message: Message) -> None:
        lease.heard_at = asyncio.get_running_loop().time()
        messages.note_time(message, lease.clock)
        if message.kind == messages.HELLO:
            lease.launcher = message.text("launcher")
            lease.launcher_id = message.text("id") or f"connection {id(lease)}"
            if lease not in self.leases:
                self.leases.add(lease)
                self._beat(lease)
            self._on.on_open(lease, message)
        elif message.kind != messages.BEAT and lease in self.leases:
            self._on.on_message(lease, message)

    def _beat(self, lease: Lease) -> None:
        """Send a heartbeat, and come back for the next one."""
        if lease in self.leases:
            body = messages.stamped(self._on.beat(), lease.clock)
            lease.send(Message(kind=messages.BEAT, body=body))
            loop = asyncio.get_running_loop()
            lease.beat = loop.call_later(self._beat_s, self._beat, lease)

    def _close(self, lease: Lease, reason: str) -> None:
        if lease.beat is not None:
            lease.beat.cancel()
        if lease in self.leases:
            self.leases.discard(lease)
            self._on.on_close(lease, reason)


def _peer(writer: asyncio.StreamWriter) -> int:
    """Return the process at the other end of a unix socket; 0 where that is not told."""
    end = writer.get_extra_info("socket")
    try:
        peer = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    except OSError:
        return 0
    return int(_UCRED.unpack(peer)[0])


def without_leases(
    on_probe: Callable[[str], str],
    on_rank: Callable[[Message], None],
    on_control: Callable[[Lease, Message], None],
    on_announce: Callable[[Lease, Message], None] = _refuse,
    on_view: Callable[[Lease, Message], None] = _nothing_to_see,
) -> LinkServer:
    """Make a server that answers probes, hears ranks and knows no leases: that of agents without sshd."""

    def ignore(*_: object) -> None:
        pass

    callbacks = Callbacks(
        on_open=ignore,
        on_message=ignore,
        on_close=ignore,
        on_probe=on_probe,
        on_rank=on_rank,
        on_control=on_control,
        on_announce=on_announce,
        on_view=on_view,
    )
    return LinkServer(callbacks, beat_s=_PROBE_TIMEOUT_S, lost_s=_PROBE_TIMEOUT_S)


async def ask(path: Path, what: str) -> str | None:
    """Ask an agent whether it is `ready` or `live`.

    Returns:
        empty text for yes, the reason for no, None when nobody answers.
    """
    try:
        reader, writer = await within(_PROBE_TIMEOUT_S, asyncio.open_unix_connection(str(path)))
        writer.write(Message(kind=messages.PROBE, body={"for": what}).encode())
        line = await within(_PROBE_TIMEOUT_S, reader.readline())
        writer.close()
    except (OSError, ValueError, asyncio.TimeoutError):
        return None
    answer = messages.decode(line)
    if answer is None:
        return None
    return "" if answer.body.get("ok") is True else answer.text("reason") or "not ready"
