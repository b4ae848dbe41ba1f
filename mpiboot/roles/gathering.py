"""Reach all workers at once, each with its own state, until the plan says GO or FAIL."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, replace

from mpiboot.link import client, messages
from mpiboot.link.client import Lease, Login
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.model.hosts import Enumerated, Host, Listed, Source
from mpiboot.plan import gather, identity
from mpiboot.plan.gather import Decision, Reach, Seen, Terms, Verb
from mpiboot.plan.identity import Nearness, Own
from mpiboot.report.progress import Bar
from mpiboot.roles.attempts import NAME_PAUSE_S, Logins, Pauses, connect, jittered
from mpiboot.runtime import resolve
from mpiboot.runtime.resolve import NoNameError
from mpiboot.runtime.within import within

_LINE_EVERY_S = 5.0
# A login that is under way when the wait fails: its worker shall hear of it, too.
_LAST_LOGINS_S = 1.5


@dataclass(frozen=True, kw_only=True)
class Approach:
    """How workers are approached.

    Attributes:
        login: what all logins have in common.
        user: default login name.
        port: default port.
        attempt_s: bound of one connection or look-up.
        settle_s: how long an uncounted name must stay the same.
        deadline_s: bound of the whole wait.
        strikes: permanent faults in a row that end it early.
    """

    login: client.Terms
    user: str
    port: int
    attempt_s: float
    settle_s: float
    deadline_s: float
    strikes: int


class Gathering:
    """The wait for workers; `leases` holds the open connections afterwards."""

    def __init__(self, source: Source, approach: Approach, own: Own, bar: Bar) -> None:
        self._source = source
        self._approach = approach
        self._own = own
        self._bar = bar
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._count: int | None = None
        self._answer = ""
        self._over = False
        self._logins = Logins(approach.login, self._too_late)
        self.seen: dict[str, Seen] = {}
        self.leases: dict[str, Lease] = {}
        self.failures: dict[str, int] = {}
        self.losses: dict[str, int] = {}  # of leases, while others were awaited

    @property
    def waited_s(self) -> float:
        """Seconds since the wait began."""
        return self._loop.time() - self._begun

    @property
    def expected(self) -> int | None:
        """How many workers must be ready; None while a name has not settled."""
        return self._count

    async def run(self) -> Decision:
        """Gather until GO or FAIL; the table of the hosts is in `seen` either way."""
        go = False
        try:
            self._begin()
            decision = await self._decide()
            go = decision.verb is Verb.GO
            return decision
        finally:
            self._bar.clear()
            self._over = True
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            if not go:
                await self._logins.settle(_LAST_LOGINS_S)

    def _begin(self) -> None:
        match self._source:
            case Listed(hosts=hosts):
                self._count = len(hosts)
                for host in hosts:
                    self._add(host)
            case Enumerated() as named:
                self._count = named.count
                self._tasks[named.name] = self._loop.create_task(self._enumerate(named))

    async def _decide(self) -> Decision:
        approach = self._approach
        next_line = self._begun + _LINE_EVERY_S
        while True:
            self._changed.clear()
            seen = list(self.seen.values())
            terms = Terms(
                expected=self._count,
                deadline_s=approach.deadline_s,
                strikes=approach.strikes,
                answer=self._answer,
            )
            decision = gather.decide(seen, terms, self.waited_s)
            if decision.verb is not Verb.WAIT:
                return decision
            text = gather.progress(seen, terms, self.waited_s)
            ready = sum(one.reach.ready for one in seen)
            self._bar.draw(ready, self._count, text)
            if self._loop.time() >= next_line and not self._bar.shown:
                logger.info("%s", text)
                next_line += _LINE_EVERY_S
            await self._pause(min(next_line, self._begun + approach.deadline_s))

    async def _pause(self, until: float) -> None:
        wait = max(0.0, until - self._loop.time())
        if self._bar.shown:
            wait = min(wait, 1.0)
        with contextlib.suppress(asyncio.TimeoutError):
            await within(wait, self._changed.wait())

    def _add(self, host: Host) -> None:
        self.seen[host.name] = Seen(host=host)
        self._tasks[host.name] = self._loop.create_task(self._reach(host))

    def _drop(self, name: str) -> None:
        self.seen.pop(name, None)
        self._tasks.pop(name).cancel()
        lease = self.leases.pop(name, None)
        if lease is not None:
            lease.close()

    async def _enumerate(self, named: Enumerated) -> None:
        """Follow the addresses of a name; an uncounted one is settled when it stays the same."""
        pause = NAME_PAUSE_S[0]
        unchanged_since = self._loop.time()
        known: set[str] = set()
        while True:
            try:
                found = set(await resolve.lookup(named.name, self._approach.attempt_s))
                self._answer = f"{named.name} has {len(found)} addresses"
            except NoNameError as fault:
                self._failed("no_name")
                self._answer = f"{named.name}: {Reach.NO_NAME.value} ({fault})"
                found = known  # a resolver that stumbles must not cost us those who are ready
            if found != known:
                unchanged_since, known = self._loop.time(), found
                self._follow(found)
            settled = self._loop.time() - unchanged_since >= self._approach.settle_s
            if named.count is None:
                self._count = len(known) if known and settled else None
            self._changed.set()
            pause = min(pause * 1.5, NAME_PAUSE_S[1])
            await asyncio.sleep(jittered(pause))

    def _follow(self, found: set[str]) -> None:
        for gone in set(self.seen) - found:
            self._drop(gone)
        for address in resolve.ordered(list(found - set(self.seen))):
            self._add(Host(name=address))
        # Ranks land alike in every run when hosts are in the order of their addresses.
        order = resolve.ordered(list(self.seen))
        self.seen = {address: self.seen[address] for address in order}

    async def _reach(self, host: Host) -> None:
        """Bring one host from "not tried" to "ready", for as long as the wait lasts."""
        pauses = Pauses(
            lambda: sum(not one.reach.ready for one in self.seen.values()), lambda: self.waited_s
        )
        while True:
            try:
                await self._attempt(host, pauses)
            except NoNameError as fault:
                self._note(host, Reach.NO_NAME, str(fault))
                await asyncio.sleep(pauses.name())
            except ConnectionRefusedError:
                self._note(host, Reach.REFUSED, "")
                await asyncio.sleep(pauses.connect())
            except (OSError, asyncio.TimeoutError) as fault:
                detail = getattr(fault, "strerror", None) or f"within {pauses.connect_s:g} s"
                self._note(host, Reach.NO_ROUTE, detail)
                pauses.connect_s = min(pauses.connect_s * 2, self._approach.attempt_s)
                await asyncio.sleep(pauses.connect())
            if self.seen[host.name].reach.ready:
                return
            if self.seen[host.name].reach not in (Reach.NO_NAME, Reach.NO_ROUTE, Reach.REFUSED):
                await asyncio.sleep(pauses.login())

    async def _attempt(self, host: Host, pauses: Pauses) -> None:
        near = identity.by_name(host.name, self._own)
        addresses = [host.name]
        if near is not Nearness.HERE and not host.is_address:
            try:
                addresses = await resolve.lookup(host.name, self._approach.attempt_s)
            except NoNameError:
                if near is Nearness.ELSEWHERE:
                    raise
                near = Nearness.HERE  # our own record is late or missing, and not needed
        if near is Nearness.HERE or identity.by_address(addresses, self._own):
            self._arrive(host, Seen(host=host, reach=Reach.READY, here=True, facts=self._own.facts))
            return
        port = host.port or self._approach.port
        sock, address = await connect(addresses, port, pauses.connect_s)
        user = host.user or self._approach.user
        login = await self._logins.login(host, sock, port, user)
        self._logged_in(host, login, address, port)
        if login.reach in (Reach.REFUSED, Reach.NO_ROUTE):
            await asyncio.sleep(pauses.login())

    def _logged_in(self, host: Host, login: Login, address: str, port: int) -> None:
        if login.lease is None:
            self._note(host, login.reach, login.detail)
            return
        if host.name not in self.seen:
            login.lease.close()
            return
        self.leases[host.name] = login.lease
        login.lease.attach(lambda _message: None, lambda why, _: self._lost(host, why))
        self._arrive(
            host,
            Seen(host=host, reach=login.reach, address=address, port=port, facts=login.facts),
        )

    def _too_late(self, host: Host, lease: Lease) -> None:
        """Keep the lease of a login that outlived the wait: its worker is released with the others."""
        if host.name not in self.seen:
            lease.close()
            return
        self.leases[host.name] = lease
        lease.attach(lambda _message: None, lambda why, _: self._lost(host, why))

    def _arrive(self, host: Host, seen: Seen) -> None:
        self.seen[host.name] = replace(seen, ready_after_s=self.waited_s)
        logger.debug("%s: %s after %.2f s", host.name, seen.reach.value, self.waited_s)
        self._changed.set()

    def _lost(self, host: Host, why: str) -> None:
        """Start anew with a worker that went away while others were awaited."""
        self.leases.pop(host.name, None)
        if host.name in self.seen and not self._over:
            logger.info("%s went away again: %s", host.name, why)
            self.losses[host.name] = self.losses.get(host.name, 0) + 1
            self._note(host, Reach.REFUSED, why)
            self._tasks[host.name] = self._loop.create_task(self._reach(host))

    def _note(self, host: Host, reach: Reach, detail: str) -> None:
        before = self.seen.get(host.name)
        if before is None:
            return
        strikes = before.strikes + 1 if before.reach is reach else 1
        self.seen[host.name] = Seen(host=host, reach=reach, detail=detail, strikes=strikes)
        self._failed(reach.name.lower())
        if before.reach is not reach:
            logger.debug("%s: %s %s", host.name, reach.value, detail)
        if before.reach is not reach or reach.permanent:
            self._changed.set()  # another "refused" changes nothing

    def _failed(self, kind: str) -> None:
        self.failures[kind] = self.failures.get(kind, 0) + 1


def hello(launcher_id: str) -> Message:
    """Introduce this launcher to a worker."""
    body = {"launcher": os.uname().nodename, "id": launcher_id}
    return Message(kind=messages.HELLO, body=body)
