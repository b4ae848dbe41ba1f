"""The launcher's end of a lease: one authenticated SSH connection per worker, through paramiko."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mpiboot.link import messages, silence, sshlibrary
from mpiboot.link.messages import Message
from mpiboot.link.prompt import FLOODS, Prompt
from mpiboot.model import usage
from mpiboot.model.facts import Facts
from mpiboot.model.fields import printable, whole
from mpiboot.model.memory import Memory
from mpiboot.model.record import dataclass
from mpiboot.plan import algorithms
from mpiboot.plan.clocks import Clock
from mpiboot.plan.flood import Allowance
from mpiboot.plan.gather import Reach
from mpiboot.plan.knownhosts import vouched
from mpiboot.plan.loss import How
from mpiboot.plan.metering import Meter
from mpiboot.plan.sshconf import SUBSYSTEM

if TYPE_CHECKING:
    import paramiko

_CHUNK = 65536
# A rank is two lines, a beat is one every few seconds.
_LINES, _LINES_PER_S = 50_000, 2000
_LOGIN_STEPS = 6  # times the bound of one step
_GREETING_STEPS = 4
_AT_A_TIME = 16  # chunks, then others get their turn
# paramiko wakes each connection's thread ten times a second, to look whether it was closed; a lease
# that is closed shuts its socket down, which wakes the thread by itself.
_WAKE_S = 60.0
_CUT = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What every login of a job has in common.

    Attributes:
        identity: path of the private user key.
        host_publics: `type base64` of each host key that a worker may show.
        known_hosts: text of a known_hosts file for plain-sshd workers.
        hello: the first message on the link.
        timeout_s: bound of each step.
        lost_s: unanswered time after which the kernel gives the connection up.
    """

    identity: str
    host_publics: tuple[str, ...]
    known_hosts: str
    hello: Message
    timeout_s: float
    lost_s: float


@dataclass(frozen=True, kw_only=True)
class Login:
    """How far a login came; with the open lease when it came all the way."""

    reach: Reach
    detail: str = ""
    facts: Facts | None = None
    lease: Lease | None = None


class Lease:
    """An open connection to a worker; closing it from either side ends the lease.

    Attributes:
        heard_at: when the worker last said something, on the loop's clock.
        own_address: our own address on this connection: one that the worker can reach.
        peer: the worker's address and port.
        ticket: the number that we have drawn at this worker; 0: none.
        memory: what its last heartbeat said of its container's memory.
        clock: of the worker's machine.
        notice: its own last word about why it ends the lease; empty: none.
        meter: what it has said that its container uses.
        on_view: is told when somebody there wants to see the job.
    """

    def __init__(
        self, transport: paramiko.Transport, channel: paramiko.Channel | None, rest: bytes
    ) -> None:
        self._transport = transport
        self._channel = channel
        self._buffer = bytearray(rest)
        self._lines = Allowance(_LINES, _LINES_PER_S)
        self._on_message: Callable[[Message], None] | None = None
        self._on_lost: Callable[[str, How], None] | None = None
        self.heard_at = 0.0
        self.own_address = ""
        self.peer = ("", 0)
        self.ticket = 0
        self.memory = Memory()
        self.clock = Clock()
        self.notice = ""
        self.meter = Meter()
        self.on_view: Callable[[Lease, Message], None] = lambda _lease, _message: None

    @property
    def plain(self) -> bool:
        """Tell whether the other end is a plain sshd, which has nothing to say."""
        return self._channel is None

    def attach(
        self, on_message: Callable[[Message], None], on_lost: Callable[[str, How], None]
    ) -> None:
        """Deliver messages inside the running loop from now on."""
        loop = asyncio.get_running_loop()
        self.heard_at = loop.time()
        self._on_message, self._on_lost = on_message, on_lost
        if self._channel is not None:
            self._channel.setblocking(False)
            loop.add_reader(self._channel.fileno(), self._readable)
            self._deliver()

    def send(self, message: Message) -> None:
        """Send a line; a connection that cannot take it is lost."""
        if self._channel is None:
            return
        try:
            self._channel.sendall(message.encode())
        except (OSError, EOFError):
            self._lose("the connection broke", How.CLOSED)

    def run_command(self, command: bytes, timeout_s: float) -> paramiko.Channel:
        """Open a session in which a command runs; blocks, so it runs in a thread.

        Args:
            command: for the login shell; empty: the shell itself.
            timeout_s: bound of the opening.

        Raises:
            paramiko.SSHException: the other end refuses, or the connection is lost.
        """
        channel = self._transport.open_session(timeout=timeout_s)
        channel.exec_command(command) if command else channel.invoke_shell()
        return channel

    def passed_on(self, count: int) -> None:
        """Know that so many bytes of a session's output were asked for: they are no flood."""
        sock = self._transport.sock
        if isinstance(sock, Prompt):
            sock.passed_on(count)

    def check(self, silent_s: float) -> None:
        """Find out whether the other end is lost; call at every heartbeat."""
        silent = not self.plain and asyncio.get_running_loop().time() - self.heard_at > silent_s
        if not silent and self._transport.is_active():
            return
        how = self._ending()
        if silent and how is How.CLOSED:
            how = How.SILENT
        broke = FLOODS if self._flooded else "the connection broke"
        self._lose(f"silent for {silent_s:g} s" if silent else broke, how)

    def close(self) -> None:
        """End the lease without a word to anybody here."""
        self._detach()
        with contextlib.suppress(OSError):
            self._transport.sock.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(Exception):
            self._transport.close()

    def _detach(self) -> None:
        if self._channel is not None and self._on_lost is not None:
            with contextlib.suppress(Exception):
                asyncio.get_running_loop().remove_reader(self._channel.fileno())
        self._on_message = self._on_lost = None

    def _lose(self, why: str, how: How) -> None:
        told = self._on_lost
        self.close()
        if told is not None:
            told(why, how)

    def _readable(self) -> None:
        channel = self._channel
        if channel is None:
            return
        if channel.recv_stderr_ready():
            channel.recv_stderr(_CHUNK)
        for _ in range(_AT_A_TIME):
            try:
                chunk = channel.recv(_CHUNK)
            except TimeoutError:
                return
            self._buffer += chunk
            self._deliver()
            if self._on_lost is None:
                return
            if not chunk:
                self._lose(FLOODS if self._flooded else "the link was closed", self._ending())
                return

    @property
    def _flooded(self) -> bool:
        return bool(getattr(self._transport.sock, "flooded", False))

    def _deliver(self) -> None:
        """Act on the lines that are whole; one that is longer than any message is nonsense."""
        now = asyncio.get_running_loop().time()
        if self._buffer:
            self.heard_at = now
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            if not self._lines.take(1, now):
                self._lose(FLOODS, How.LEFT)
                return
            message = messages.decode(bytes(line))
            if message is not None:
                self._take(message)
        if len(self._buffer) > messages.MAX_LINE:
            self._lose("the worker talks nonsense", How.LEFT)

    def _take(self, message: Message) -> None:
        messages.note_time(message, self.clock)
        if message.kind == messages.BEAT:
            self.memory = messages.memory_of(message.body)
        elif message.kind == messages.USAGE:
            self._measured(message)
        elif message.kind == messages.VIEW:
            self.on_view(self, message)
        elif message.kind == messages.NOTICE and message.text("event") == messages.SUPERSEDED:
            self.notice = message.text("text")
        if self._on_message is not None:
            self._on_message(message)

    def _measured(self, message: Message) -> None:
        said = usage.read(message.body)
        if said is not None:
            self.meter.take(said)

    def _ending(self) -> How:
        """Tell an end that the kernel gave up for from one that the other side made."""
        if self._flooded:
            return How.LEFT
        fault = self._transport.get_exception()
        cut = isinstance(fault, OSError) and fault.errno in _CUT
        return How.NO_ACK if cut or silence.unanswered(self._transport.sock) else How.CLOSED


def login(sock: socket.socket, name: str, port: int, user: str, terms: Terms) -> Login:
    """Log in over a connected socket; blocks, so it runs in a thread.

    The host key is checked before anything of ours is shown. What fails is told by its kind.
    """
    sshlibrary.load()
    import paramiko  # noqa: PLC0415 - loaded already

    logging.getLogger("paramiko").addHandler(logging.NullHandler())
    logging.getLogger("paramiko").propagate = False
    sock = Prompt(sock.detach(), time.monotonic() + _LOGIN_STEPS * terms.timeout_s)
    _tune(sock, terms.lost_s)
    own_address = str(sock.getsockname()[0])
    peer = (str(sock.getpeername()[0]), int(sock.getpeername()[1]))
    transport = paramiko.Transport(sock)
    begun = time.monotonic()
    try:
        found = _converse(transport, name, port, user, terms)
    except (paramiko.SSHException, EOFError, OSError) as fault:
        transport.close()
        if time.monotonic() - begun >= terms.timeout_s:  # paramiko's words for it are of all kinds
            detail = f"it accepts, but a login gets no answer within {terms.timeout_s:g} s"
            return Login(reach=Reach.NO_ROUTE, detail=detail)
        return _failed(fault, user)
    if found.lease is not None:
        sock.through()
        sock.settimeout(_WAKE_S)
        found.lease.own_address, found.lease.peer = own_address, peer
    return found


def _failed(fault: Exception, user: str) -> Login:
    """Tell a login that was refused from one that was cut short, which may heal."""
    import paramiko  # noqa: PLC0415 - loaded already

    text = str(fault).rstrip(". ") or type(fault).__name__
    if isinstance(fault, paramiko.ssh_exception.IncompatiblePeer):
        reach = Reach.WRONG_HOST_KEY if "host key" in text else Reach.LOGIN_BROKEN
        return Login(reach=reach, detail=text)
    if isinstance(fault, paramiko.AuthenticationException) and "EOF" not in text:
        return Login(reach=Reach.KEY_REFUSED, detail=f"user {user}: {text}")
    return Login(reach=Reach.REFUSED, detail=f"closed during the login: {text}")


def _tune(sock: socket.socket, lost_s: float) -> None:
    sock.settimeout(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, max(1, int(lost_s / 3)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, int(lost_s / 5)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(lost_s * 1000))


def _converse(
    transport: paramiko.Transport, name: str, port: int, user: str, terms: Terms
) -> Login:
    import paramiko  # noqa: PLC0415 - loaded already

    transport.banner_timeout = transport.auth_timeout = terms.timeout_s
    options = transport.get_security_options()
    believed = {*terms.host_publics, *vouched(terms.known_hosts, name, port)}
    options.key_types = _key_types(believed, options.key_types)
    options.kex = algorithms.library_kex(options.kex)
    options.ciphers = algorithms.strong(options.ciphers, algorithms.CIPHERS)
    options.digests = algorithms.strong(options.digests, algorithms.MACS)
    transport.start_client(timeout=terms.timeout_s)
    shown = transport.get_remote_server_key()
    if f"{shown.get_name()} {shown.get_base64()}" not in believed:
        transport.close()
        detail = f"it shows {shown.get_name()} {shown.fingerprint}"
        return Login(reach=Reach.WRONG_HOST_KEY, detail=detail)
    transport.auth_publickey(user, sshlibrary.key(terms.identity))
    channel = transport.open_session(timeout=terms.timeout_s)
    channel.settimeout(terms.timeout_s)
    try:
        channel.invoke_subsystem(SUBSYSTEM)
    except paramiko.SSHException:
        return _plain(transport, terms)
    return _greet(transport, channel, terms)


def _key_types(believed: set[str], offered: object) -> tuple[str, ...]:
    """Ask only for host keys of the types that we can check."""
    wanted = {line.split()[0] for line in believed}
    if "ssh-rsa" in wanted:
        wanted |= {"rsa-sha2-512", "rsa-sha2-256"}
    kinds = tuple(str(kind) for kind in offered) if isinstance(offered, tuple | list) else ()
    return tuple(kind for kind in kinds if kind in wanted) or kinds


def _plain(transport: paramiko.Transport, terms: Terms) -> Login:
    """Prove that a command can be run where no agent answers."""
    channel = transport.open_session(timeout=terms.timeout_s)
    channel.settimeout(terms.timeout_s)
    channel.exec_command("true")
    ended = channel.status_event.wait(terms.timeout_s)
    code = channel.exit_status if ended else "no status in time"
    if code:
        said = channel.recv(1024) if channel.recv_ready() else b""
        return _broken(transport, f"`true` ended with {code}", said)
    channel.close()
    return Login(reach=Reach.PLAIN, lease=Lease(transport, None, b""))


def _greet(transport: paramiko.Transport, channel: paramiko.Channel, terms: Terms) -> Login:
    """Say hello to the worker's agent and take its facts; what else comes meanwhile is bounded."""
    channel.sendall(terms.hello.encode())
    rest, heard = bytearray(), 0
    until = time.monotonic() + _GREETING_STEPS * terms.timeout_s
    while True:
        chunk = channel.recv(_CHUNK)
        heard += len(chunk)
        if not chunk or heard > 4 * messages.MAX_LINE or time.monotonic() > until:
            said = channel.recv_stderr(1024) if channel.recv_stderr_ready() else b""
            said = said or bytes(rest[:1024])
            return _broken(transport, "the worker's agent does not answer", said)
        *lines, rest = (rest + chunk).split(b"\n")
        for number, line in enumerate(lines, start=1):
            message = messages.decode(bytes(line))
            other = messages.foreign_version(bytes(line)) if message is None else ""
            if other:
                what = f"its agent speaks version {other} of the link, this one {messages.VERSION}"
                return _broken(transport, f"{what}; use the same mpiboot on both sides", b"")
            if message is not None and message.kind == messages.FACTS:
                left = b"\n".join([*lines[number:], rest])
                return _ready(message, Lease(transport, channel, left))


def _ready(message: Message, lease: Lease) -> Login:
    lease.ticket = whole(message.body, "ticket", 1 << 53) or 0
    return Login(reach=Reach.READY, facts=messages.read_facts(message), lease=lease)


def _broken(transport: paramiko.Transport, what: str, said: bytes) -> Login:
    transport.close()
    text = printable(" ".join(said.decode(errors="replace").split()))[:200]
    return Login(reach=Reach.LOGIN_BROKEN, detail=f"{what}: {text}" if text else what)
