"""One attempt to reach a host, and the pause before the next."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from mpiboot.link import client
from mpiboot.link.client import Lease, Login
from mpiboot.model.hosts import Host
from mpiboot.model.record import dataclass
from mpiboot.plan import identity
from mpiboot.plan.gather import Reach, Seen
from mpiboot.plan.identity import Nearness, Own
from mpiboot.plan.pacing import Width
from mpiboot.roles.naming import Naming
from mpiboot.runtime.resolve import NoNameError
from mpiboot.runtime.within import within

NAME_PAUSE_S = (0.25, 1.0)
_NAME_S = (0.1, 1.0)
_LOGIN_PAUSE_S = (1.0, 10.0)
# A lost SYN is repeated by the kernel only after 1 s; trying anew is quicker for a pod that starts.
_FIRST_CONNECT_S = 0.3
_NEXT_CONNECT_S, _LONG_EVERY = 0.6, 10
# Logins compute in threads that the loop shares one interpreter with: many of them at once only while
# the loop is on time, or workers would miss our heartbeats.
_LEAST_AT_ONCE, _MOST_AT_ONCE = 4, 48
_LOOK_S = 0.02
# A worker's sshd closes a connection over which nobody logs in within 20 s, so no more are made than
# half a CPU logs in over in a part of that.
_CONNECTIONS = 512
# Who is there answers sooner; who is not keeps nobody from trying others.
_ANSWER_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Approach:
    """How workers are approached.

    Attributes:
        login: what all logins have in common, once the job's keys are made.
        user: default login name.
        port: default port.
        attempt_s: bound of one connection or look-up.
        settle_s: how long an uncounted name must stay the same.
        deadline_s: bound of the whole wait.
        strikes: permanent faults in a row that end it early.
        quorum: how many are enough when not all come; 0: all are needed.
        elastic: whether workers may come and go while the job runs.
        lease_limit: how many leases are held at most.
        through: asks a host through the program in place of ssh; None: over ssh.
    """

    login: asyncio.Future[client.Terms]
    user: str
    port: int
    attempt_s: float
    settle_s: float
    deadline_s: float
    strikes: int
    quorum: int = 0
    elastic: bool = False
    lease_limit: int = 4096
    through: Callable[[Host], Awaitable[Seen]] | None = None


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """What one attempt has brought.

    Attributes:
        seen: what was seen.
        lease: the open connection, if it came so far.
        pause_s: pause before the next attempt.
    """

    seen: Seen
    lease: Lease | None = None
    pause_s: float = 0.0


class Pauses:
    """How long to wait before the next try of one host.

    Args:
        pending: tells how many hosts are not ready.
        waited_s: tells how long the wait has lasted.
    """

    def __init__(self, pending: Callable[[], int], waited_s: Callable[[], float]) -> None:
        self._pending = pending
        self._waited_s = waited_s
        self._login_s = _LOGIN_PAUSE_S[0]
        self.connect_s = _FIRST_CONNECT_S
        self._unanswered = 0

    def unanswered(self, most_s: float) -> None:
        """Choose how long the next connection may take, as this one got no answer.

        The kernel repeats a lost SYN after 1 s, 3 s, 7 s: a pod whose network comes meanwhile would
        answer that late. So tries are short, and but for a now and then, that a slow way gets its
        time.

        Args:
            most_s: bound of any.
        """
        self._unanswered += 1
        long = self._unanswered % _LONG_EVERY == 0
        self.connect_s = most_s if long else min(_NEXT_CONNECT_S, most_s)

    def connect(self) -> float:
        """Before a port accepts, a try costs nothing: 1,000 a second over all hosts."""
        return jittered(min(1.0, max(0.02, self._pending() / 1000)))

    def name(self) -> float:
        """Resolvers are shared: ten look-ups a second of one host's name, 20 over all hosts.

        The longer it takes the fewer, down to one a second for each host: no name is found later
        than by a twentieth of the time that it took to appear.
        """
        pause = max(_NAME_S[0], self._pending() / 20, self._waited_s() / 20)
        return jittered(min(pause, _NAME_S[1]))

    def login(self) -> float:
        """A login costs both sides CPU, and a newer sshd bans those who fail too often."""
        pause, self._login_s = self._login_s, min(self._login_s * 2, _LOGIN_PAUSE_S[1])
        return jittered(pause)


def jittered(seconds: float) -> float:
    """Spread a pause, so that many hosts do not knock at once."""
    return seconds * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load, guards nothing


async def connect(addresses: list[str], port: int, timeout_s: float) -> tuple[socket.socket, str]:
    """Connect to the first address that accepts.

    Raises:
        OSError: the last address's fault; asyncio.TimeoutError when it did not answer.
    """
    loop = asyncio.get_running_loop()
    last: OSError | asyncio.TimeoutError = OSError("no address")
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            await within(timeout_s, loop.sock_connect(sock, (address, port)))
        except (OSError, asyncio.TimeoutError) as fault:
            sock.close()
            last = fault
        except BaseException:
            sock.close()
            raise
        else:
            return sock, address
    raise last


class _Room:
    """Room for some, whose number may change; the others wait in a row.

    Args:
        most: how many may be inside now.
    """

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._inside = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    @property
    def full(self) -> bool:
        """Tell whether the next one has to wait."""
        return self._inside >= self._most()

    async def enter(self) -> None:
        """Wait for a place, and take it."""
        if not self.full:
            self._inside += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was given, and nobody takes it
                self.leave()
            raise

    def squeeze_in(self) -> None:
        """Take a place though there may be none."""
        self._inside += 1

    def leave(self) -> None:
        """Give a place back."""
        self._inside -= 1
        self.let_in()

    def let_in(self) -> None:
        """Give those who wait what places there are."""
        while self.waiting and not self.full:
            turn = self.waiting.popleft()
            if not turn.done():
                self._inside += 1
                turn.set_result(None)


class _AtDoor:
    """Somebody who connects: without an answer it gives its place back, and takes it when one comes."""

    def __init__(self, room: _Room) -> None:
        self._room = room
        self._inside = True
        self._loop = asyncio.get_running_loop()
        self._look_soon()

    def connected(self) -> None:
        """Know that the other end has answered."""
        self._timer.cancel()
        if not self._inside:
            self._inside = True
            self._room.squeeze_in()

    def leave(self) -> None:
        """Be through."""
        self._timer.cancel()
        if self._inside:
            self._inside = False
            self._room.leave()

    def _look_soon(self) -> None:
        self._due = self._loop.time() + _ANSWER_S
        self._timer = self._loop.call_at(self._due, self._unanswered)

    def _unanswered(self) -> None:
        if self._loop.time() - self._due > _LOOK_S:  # the answer may be there, and not be heard yet
            self._look_soon()
        else:
            self.leave()


class Logins:
    """Logins under way; each blocks a thread and cannot be called back.

    Args:
        terms: what all logins have in common; connections are made while it is found.
        on_late: gets the lease of a login that nobody waits for any more, so that its worker,
            which believes in a launcher now, is told how it went.
    """

    def __init__(
        self, terms: asyncio.Future[client.Terms], on_late: Callable[[Host, Lease], None]
    ) -> None:
        self._terms = terms
        self._on_late = on_late
        self._running: set[asyncio.Future[Login]] = set()
        self._doors = _Room(lambda: _CONNECTIONS)
        self._width = Width(_LEAST_AT_ONCE, _MOST_AT_ONCE)
        self._room = _Room(lambda: self._width.now)
        self._looking: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def door(self) -> AsyncIterator[Callable[[], None]]:
        """Wait until one more connection has a chance to log in before the other end loses patience.

        Gives what has to be called once it is connected; while it is not, it stands in nobody's way
        for long.
        """
        await self._doors.enter()
        at_door = _AtDoor(self._doors)
        try:
            yield at_door.connected
        finally:
            at_door.leave()

    async def login(self, host: Host, sock: socket.socket, port: int, user: str) -> Login:
        """Log in over a connected socket, once the others leave room for it."""
        try:
            terms = await asyncio.shield(self._terms)
            await self._turn()
        except BaseException:
            sock.close()
            raise
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(None, client.login, sock, host.name, port, user, terms)
        self._running.add(work)
        work.add_done_callback(self._ended)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.add_done_callback(lambda done: self._late(host, done))
            raise

    async def _turn(self) -> None:
        """Wait until one more login does not keep the loop from its work; it counts from then on."""
        if self._room.full and (self._looking is None or self._looking.done()):
            self._looking = asyncio.ensure_future(self._look())
        await self._room.enter()

    async def _look(self) -> None:
        """Measure how late the loop is for as long as somebody waits, and let in as many as that allows."""
        loop = asyncio.get_running_loop()
        while self._room.waiting:
            begun = loop.time()
            await asyncio.sleep(_LOOK_S)
            self._width.looked(loop.time() - begun - _LOOK_S)
            self._room.let_in()

    def _ended(self, work: asyncio.Future[Login]) -> None:
        self._running.discard(work)
        self._room.leave()

    async def settle(self, timeout_s: float) -> None:
        """Wait for what is still under way, so that the late ones are known."""
        if self._running:
            await asyncio.wait(set(self._running), timeout=timeout_s)

    def _late(self, host: Host, work: asyncio.Future[Login]) -> None:
        if not work.cancelled() and work.exception() is None:
            lease = work.result().lease
            if lease is not None:
                self._on_late(host, lease)


class Attempts:
    """Attempts to reach hosts.

    Args:
        approach: how.
        own: what this container knows of itself; it needs no login.
        logins: those under way.
        naming: knows names.
    """

    def __init__(self, approach: Approach, own: Own, logins: Logins, naming: Naming) -> None:
        self._approach = approach
        self._own = own
        self._logins = logins
        self._naming = naming

    async def once(self, host: Host, pauses: Pauses) -> Attempted:
        """Try to reach a host; a fault becomes what was seen of it."""
        try:
            return await self._try(host, pauses)
        except NoNameError as fault:
            seen = Seen(host=host, reach=Reach.NO_NAME, detail=str(fault))
            paced = self._naming.paces(host.name)
            return Attempted(seen=seen, pause_s=0.0 if paced else pauses.name())
        except ConnectionRefusedError:
            return Attempted(seen=Seen(host=host, reach=Reach.REFUSED), pause_s=pauses.connect())
        except (OSError, asyncio.TimeoutError) as fault:
            detail = getattr(fault, "strerror", None) or f"within {pauses.connect_s:g} s"
            pauses.unanswered(self._approach.attempt_s)
            seen = Seen(host=host, reach=Reach.NO_ROUTE, detail=detail)
            return Attempted(seen=seen, pause_s=pauses.connect())

    async def _try(self, host: Host, pauses: Pauses) -> Attempted:
        approach, own = self._approach, self._own
        near = Nearness.HERE if host.here else identity.by_name(host.name, own)
        if approach.through is not None and near is Nearness.ELSEWHERE:
            return Attempted(seen=await approach.through(host), pause_s=pauses.login())
        addresses = [host.name]
        if near is not Nearness.HERE and not host.is_address:
            try:
                addresses = await self._naming.addresses(host.name)
            except NoNameError:
                if near is Nearness.ELSEWHERE:
                    raise
                near = Nearness.HERE  # our own record is late or missing, and not needed
        if near is Nearness.HERE or identity.by_address(addresses, own):
            return Attempted(seen=Seen(host=host, reach=Reach.READY, here=True, facts=own.facts))
        port = host.port or approach.port
        async with self._logins.door() as connected:
            sock, address = await connect(addresses, port, pauses.connect_s)
            connected()
            login = await self._logins.login(host, sock, port, host.user or approach.user)
        if login.lease is None:
            seen = Seen(host=host, reach=login.reach, detail=login.detail)
            return Attempted(seen=seen, pause_s=pauses.login())
        seen = Seen(host=host, reach=login.reach, address=address, port=port, facts=login.facts)
        return Attempted(seen=seen, lease=login.lease)

    async def again(self, one: Seen) -> Lease | None:
        """Log in once more to a host that was ready; None where that does not work now."""
        user = one.host.user or self._approach.user
        try:
            sock, _ = await connect([one.address], one.port, self._approach.attempt_s)
            return (await self._logins.login(one.host, sock, one.port, user)).lease
        except (OSError, asyncio.TimeoutError):
            return None
