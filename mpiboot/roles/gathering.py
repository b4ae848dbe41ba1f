"""Reach all workers at once, each with its own state, until the plan says GO or FAIL."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

from mpiboot.link import messages, sshlibrary
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.model.hosts import Host, Listed
from mpiboot.model.record import replace
from mpiboot.plan import gather
from mpiboot.plan.gather import Decision, Reach, Seen, Terms, Verb
from mpiboot.plan.identity import Own
from mpiboot.plan.roster import Roster, undecided
from mpiboot.report.terminal.waiting import WaitTable
from mpiboot.roles.attempts import Approach, Attempted, Attempts, Logins, Pauses, jittered
from mpiboot.roles.finding import Finder
from mpiboot.roles.naming import Naming
from mpiboot.roles.showing import Showing
from mpiboot.runtime.within import came

# A login that is under way when the wait fails: its worker shall hear of it, too.
_LAST_LOGINS_S = 1.5
_MANY, _LOOK_S = 256, 0.00005
# While the job runs nobody waits for those who are missing: they may cost next to nothing.
_LATER_S = 2.0


class Gathering:
    """The wait for workers; `leases` holds the open connections afterwards.

    With a quorum, and for an elastic job, it goes on while the job runs: who comes late is held, so
    that it hears of the job's end; `on_change` tells of each who comes or goes.

    Args:
        source: the hosts, or who finds them.
        approach: how they are approached.
        own: this container.
        table: shows how far it is, on a terminal.
    """

    def __init__(
        self, source: Listed | Finder, approach: Approach, own: Own, table: WaitTable
    ) -> None:
        self._source = source
        self._approach = approach
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._showing = Showing(table, lambda: self.waited_s)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._count: int | None = None
        self._answer = ""
        self._fault: BaseException | None = None
        self._over = False
        self._following = False
        self._logins = Logins(approach.login, self._too_late)
        self._naming = Naming(approach.attempt_s)
        self._attempts = Attempts(approach, own, self._logins, self._naming)
        self.on_change: Callable[[str], None] = lambda _name: None
        self.on_view: Callable[[Lease, Message], None] = lambda _lease, _message: None
        self.seen = Roster()
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
            if go and decision.reason:
                logger.warning("%s", decision.reason)
            return decision
        finally:
            self._showing.clear()
            self._following = go and (self._approach.elastic or self._approach.quorum > 0)
            if not self._following:
                await self.stop(0.0 if go else _LAST_LOGINS_S)

    async def stop(self, last_logins_s: float = _LAST_LOGINS_S) -> None:
        """Let go of those who are not reached; logins under way may end, and count."""
        self._over, self._following = True, False
        self.on_change = lambda _name: None
        self._naming.close()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if last_logins_s:
            await self._logins.settle(last_logins_s)

    def _begin(self) -> None:
        source = self._source
        named = len(source.hosts) if isinstance(source, Listed) else source.count
        gather.check_quorum(self._approach.quorum, named)
        self._count = named
        if isinstance(source, Listed):
            for host in source.hosts:
                self._add(host)
        else:
            self._tasks[source.name] = self._begun_task(self._seek(source))

    async def _decide(self) -> Decision:
        approach = self._approach
        while True:
            self._changed.clear()
            if self._fault is not None:
                raise self._fault
            terms = Terms(
                expected=self._count,
                deadline_s=approach.deadline_s,
                strikes=approach.strikes,
                answer=self._answer or self._naming.heard,
                quorum=approach.quorum,
                patience_s=approach.settle_s if approach.elastic else None,
            )
            look_s = approach.deadline_s
            if not undecided(self.seen, terms, self.waited_s):
                seen = list(self.seen.values())
                decision = gather.decide(seen, terms, self.waited_s)
                if decision.verb is not Verb.WAIT:
                    return decision
                look_s = gather.look_again_s(seen, terms)
                await self._rest()
            look_s = min(look_s, self._showing.show(self.seen, terms, self.waited_s))
            await came(self._changed, max(0.0, look_s - self.waited_s))

    async def _rest(self) -> None:
        """Take in some news together before another look at all hosts, which costs time for each."""
        if len(self.seen) > _MANY:
            await asyncio.sleep(len(self.seen) * _LOOK_S)

    def _begun_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """End the wait by what nobody foresaw, as a thread that cannot be made: it would wait in vain."""
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            self._fault = self._fault or fault
            self._changed.set()

    def _add(self, host: Host) -> None:
        self.seen[host.name] = Seen(host=host, since_s=self.waited_s)
        self._tasks[host.name] = self._begun_task(self._reach(host))

    def _drop(self, name: str) -> None:
        self.seen.pop(name, None)
        self._tasks.pop(name).cancel()
        lease = self.leases.pop(name, None)
        if lease is not None:
            lease.close()

    async def _seek(self, finder: Finder) -> None:
        """Follow what a finder finds; hosts without a count are settled when they stay the same."""
        unchanged_since = self._loop.time()
        known: tuple[Host, ...] = ()
        while True:
            found = await finder.look()
            self._answer = found.answer
            if found.fault:
                self._failed(found.fault)
            elif found.hosts != known:
                unchanged_since, known = self._loop.time(), found.hosts
                self._follow(found.hosts)
            settled = self._loop.time() - unchanged_since >= self._approach.settle_s
            if finder.count is None and not self._following:
                self._count = len(known) if known and settled else None
            self._changed.set()
            await finder.pause(self._least_pause_s)

    def _follow(self, found: tuple[Host, ...]) -> None:
        names = {host.name: None for host in found}
        gone = self.seen.keys() - names
        if self._following:  # a name that stumbles must not cost a running job its workers
            gone = {name for name in gone if not self.seen[name].reach.ready}
        for name in gone:
            self._drop(name)
        for host in found:
            if host.name not in self.seen:
                self._add(host)
        # Ranks land alike in every run when hosts are in the finder's order.
        self.seen.arrange(names)

    async def _reach(self, host: Host) -> None:
        """Bring one host from "not tried" to "ready", for as long as the wait lasts."""
        pauses = Pauses(lambda: self.seen.pending, lambda: self.waited_s)
        while host.name in self.seen and not self.seen[host.name].reach.ready:
            tried = await self._attempts.once(host, pauses)
            self._take(host, tried)
            if not tried.seen.reach.ready:
                await asyncio.sleep(max(self._least_pause_s, tried.pause_s))

    @property
    def _least_pause_s(self) -> float:
        return jittered(_LATER_S) if self._following else 0.0

    def _take(self, host: Host, tried: Attempted) -> None:
        if not tried.seen.reach.ready:
            self._note(host, tried.seen.reach, tried.seen.detail)
            return
        if host.name not in self.seen:
            if tried.lease is not None:
                tried.lease.close()
            return
        leased = tried.seen.leased if tried.lease is None else self._hold(host, tried.lease)
        now_s = self.waited_s
        self.seen[host.name] = replace(
            tried.seen, since_s=now_s, ready_after_s=now_s, leased=leased
        )
        logger.debug("%s: %s after %.2f s", host.name, tried.seen.reach.value, self.waited_s)
        self._changed.set()
        self.on_change(host.name)

    def _hold(self, host: Host, lease: Lease) -> bool:
        """Keep a lease where there may be one more; else its worker is told that it is let go."""
        limit = self._approach.lease_limit
        if len(self.leases) >= limit and host.name not in self.leases:
            if not self.seen.unleased:
                logger.warning("workers beyond %d hold no lease (--lease-limit)", limit)
            lease.send(messages.let_go_message())
            lease.close()
            return False
        self.leases[host.name] = lease
        lease.on_view = self.on_view
        sshlibrary.give_way(len(self.leases))
        lease.attach(lambda _message: None, lambda why, _how: self.lost(host.name, why))
        return True

    @property
    def unheld(self) -> list[Seen]:
        """Those to whom a login works, and of whom there is no lease."""
        return [one for one in self.seen.values() if one.reach.ready and not one.leased]

    @property
    def unvisited(self) -> list[Seen]:
        """Those of them who have an agent or a plain sshd to log in to."""
        return [one for one in self.unheld if one.reach is not Reach.BY_AGENT]

    async def again(self, one: Seen) -> Lease | None:
        """Log in once more where there is no lease; None where that does not work now."""
        return await self._attempts.again(one)

    def _too_late(self, host: Host, lease: Lease) -> None:
        """Keep the lease of a login that outlived the wait: its worker is released with the others."""
        if host.name not in self.seen:
            lease.close()
            return
        self._hold(host, lease)

    def lost(self, name: str, why: str) -> None:
        """Know that a lease is lost; where somebody still waits for the worker, start anew with it."""
        lease = self.leases.pop(name, None)
        why = (lease.notice if lease is not None else "") or why
        before = self.seen.get(name)
        if before is None or not before.reach.ready:
            return
        if not self._over and not self._following:
            logger.info("%s went away again: %s", name, why)
        self._note(before.host, Reach.REFUSED, why)
        if not self._over:
            self.losses[name] = self.losses.get(name, 0) + 1
            self._tasks[name] = self._begun_task(self._reach(before.host))
        self.on_change(name)

    def _note(self, host: Host, reach: Reach, detail: str) -> None:
        before = self.seen.get(host.name)
        if before is None:
            return
        same = before.reach is reach
        self.seen[host.name] = Seen(
            host=host, reach=reach, detail=detail,
            strikes=before.strikes + 1 if same else 1,
            since_s=before.since_s if same else self.waited_s,
        )  # fmt: skip
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
    return Message(kind=messages.HELLO, body=messages.stamped(body))
