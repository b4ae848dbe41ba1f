"""One attempt to reach a host, and the pause before the next."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable

from mpiboot.link import client
from mpiboot.link.client import Lease, Login
from mpiboot.model.hosts import Host
from mpiboot.runtime.within import within

NAME_PAUSE_S = (0.25, 1.0)
_NAME_S = (0.1, 1.0)
_LOGIN_PAUSE_S = (1.0, 10.0)
# A lost SYN is repeated by the kernel only after 1 s; trying anew is quicker for a pod that starts.
_FIRST_CONNECT_S = 0.3


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


class Logins:
    """Logins under way; each blocks a thread and cannot be called back.

    Args:
        terms: what all logins have in common.
        on_late: gets the lease of a login that nobody waits for any more, so that its worker,
            which believes in a launcher now, is told how it went.
    """

    def __init__(self, terms: client.Terms, on_late: Callable[[Host, Lease], None]) -> None:
        self._terms = terms
        self._on_late = on_late
        self._running: set[asyncio.Future[Login]] = set()

    async def login(self, host: Host, sock: socket.socket, port: int, user: str) -> Login:
        """Log in over a connected socket."""
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(None, client.login, sock, host.name, port, user, self._terms)
        self._running.add(work)
        work.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.add_done_callback(lambda done: self._late(host, done))
            raise

    async def settle(self, timeout_s: float) -> None:
        """Wait for what is still under way, so that the late ones are known."""
        if self._running:
            await asyncio.wait(set(self._running), timeout=timeout_s)

    def _late(self, host: Host, work: asyncio.Future[Login]) -> None:
        if not work.cancelled() and work.exception() is None:
            lease = work.result().lease
            if lease is not None:
                self._on_late(host, lease)
