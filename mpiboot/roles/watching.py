"""Watch mpirun: its end, the leases, the ranks' reports, the order to stop."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mpiboot.link import messages
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.model.fields import whole
from mpiboot.plan import causes, daemons, neighbours, ranks
from mpiboot.plan.clocks import Clock
from mpiboot.plan.evidence import Cause, Evidence, Halt, Lost
from mpiboot.plan.launchplan import LaunchPlan
from mpiboot.plan.layout import Layout
from mpiboot.plan.loss import How
from mpiboot.roles import dvmend, losing
from mpiboot.roles.calling import Calls
from mpiboot.roles.forewarning import Forewarning
from mpiboot.roles.halting import Halting
from mpiboot.roles.launcher_view import Counts
from mpiboot.roles.mpirun import Mpirun
from mpiboot.roles.rollcall import RollCall
from mpiboot.roles.stalling import Stalling
from mpiboot.roles.witness import Witness
from mpiboot.runtime.children import Child
from mpiboot.runtime.ladder import Ladder
from mpiboot.runtime.within import came

# mpirun names the daemon it lost within this time; then it is taken down.
_OWN_WORDS_S = 3.0
_TAKE_DOWN_S = 12.0
_OWN_END_S = 1.5
# Open MPI 5 now and then stays for ever after its last rank; others are gone in a tenth of a second.
_LINGER_S = 5.0
# Reports of ranks take another way than mpirun's status, and may arrive later.
_LAST_REPORTS_S = 1.0


class Watch:
    """One execution of mpirun.

    Args:
        halting: the order to end it.
        leases: of those who take part, by the user's names for them.
        arranged: who runs what.
        plan: how mpirun is called.
        tell_own: sends a message to the ranks of this very container.
        counts: gets what is counted.
    """

    def __init__(
        self,
        halting: Halting,
        leases: Mapping[str, Lease],
        arranged: Layout,
        plan: LaunchPlan,
        tell_own: Callable[[Message], None],
        *,
        counts: Counts,
    ) -> None:
        self._agent = agent = halting.agent
        self._counts = counts
        self._halting = halting
        self._loop = asyncio.get_running_loop()
        self._leases = dict(leases)
        self._arranged = arranged
        self._witness = Witness(lambda: 0)
        self._plan = plan
        self._tell_own = tell_own
        self._terms = ranks.Terms(start_s=agent.settings.start_timeout_s, linger_s=_LINGER_S)
        self._lost: dict[str, Lost] = {}
        self._disbelieved: set[str] = set()
        self._left: list[Lost] = []
        self._explaining: dict[str, asyncio.Task[None]] = {}
        self._news = asyncio.Event()
        self._roll_call = RollCall(agent.settings, counts, self._news)
        self._mpirun: Mpirun | None = None
        self._begun = 0.0
        self._late_s: float | None = None
        self._calls = Calls()
        self._unreachable: dict[str, str] = {}
        self._lingers = False
        self._taken_down = False
        self._warning: Forewarning | None = None
        self._warned_s: float | None = None
        self.on_lost: Callable[[str, str], None] = lambda _name, _why: None
        self.on_gone: Callable[[str], None] = lambda _name: None
        reporting = plan.wrapper is not None
        np = arranged.np if reporting and not plan.own else 0
        slots = {place.name: place.slots for place in arranged.places}
        self.book = ranks.Book(np, own=reporting and plan.own, slots=slots)
        self._stalling = Stalling(
            agent.settings.stall_timeout_s, self.book, self._leases, self._tell_here
        )

    def hear(self, host: str, message: Message) -> None:
        """Take what a host says: reports of ranks, its testimony, answers to our calls."""
        if message.kind == messages.CALL:
            self._calls.hear(host, message)
        elif message.kind == messages.WITNESS:
            self._roll_call.hear(host, message)
        elif message.kind == messages.NOTICE and message.text("event") == messages.STOPPING:
            number = whole(message.body, "signal", 64) or signal.SIGTERM
            logger.warning("%s was told to stop (%s)", host, causes.name(number))
            self._halting.give(Halt(cause=Cause.PREEMPTED, signal=number, host=host))
        elif message.kind == messages.NOTICE and message.text("event") == messages.DAEMON:
            self._daemon_died(host)
        elif message.kind in (messages.LOOK, messages.STACKS):
            self._stalling.hear(host, message)
        elif message.kind == messages.SIGNAL and self._warning is not None:
            self._warning.hear(message)
        elif message.kind == messages.RANK:
            wall = time.time()  # noqa: TID251 - to compare with what another machine's clock says
            clock = self._leases[host].clock if host in self._leases else Clock()
            if self.book.hear(host, message.body, self._loop.time(), wall, clock):
                self._news.set()
            self._disbelieve()

    def _disbelieve(self) -> None:
        """Say once of a host that it speaks for ranks that are not its own."""
        for host in self.book.disbelieved.keys() - self._disbelieved:
            self._disbelieved.add(host)
            logger.warning("%s reports ranks of other hosts: it is not believed", host)

    def _cut_off(self, text: str) -> None:
        """End a job whose workers do not reach each other, or say so."""
        if self._plan.port_check == neighbours.FAIL:
            self._halting.give(Halt(cause=Cause.CUT_OFF, detail=text))
        else:
            logger.warning("%s", text)

    def _daemon_died(self, host: str) -> None:
        """Count a host as lost where nobody looks after the ranks: mpirun may wait for ever."""
        if self._agent.target is not None and host not in self._lost:
            self._lost[host] = Lost(host=host, why=daemons.DIED)
            self._news.set()

    async def run(self) -> Evidence:
        """Start mpirun as planned and return what was seen of it."""
        self._mpirun = Mpirun(self._agent, self._plan, self._rank_is_shown)
        child = self._mpirun.child
        self._begun = self._loop.time()
        self._agent.target = child
        for name, lease in self._leases.items():
            self.follow(name, lease)
        stalling = asyncio.ensure_future(self._stalling.run(self._quiet_since, self._halting))
        if self._plan.port_check != neighbours.OFF:
            self._calls.watch(self._leases, self._cut_off)
        await self._until_ended(child)
        if self._plan.dvm:
            await dvmend.end(self._plan.dvm)
        stalling.cancel()
        self._calls.close()
        self._agent.target = None
        code = child.ended.result()
        success = code == 0 and self._halting.order is None
        called = self._roll_call.call(
            self._leases, self._lost, self.book.ranks(), success=success
        )  # fmt: skip
        await asyncio.gather(self._mpirun.finish(), called)
        if self._explaining:
            await asyncio.wait(self._explaining.values())
        return await self._last_reports(code)

    async def _last_reports(self, code: int) -> Evidence:
        """Wait a moment for reports that may decide the verdict."""
        evidence = self._evidence(code)
        deadline = self._loop.time() + _LAST_REPORTS_S
        while not evidence.halt and not evidence.lost and self._reports_are_due(evidence):
            if self._loop.time() >= deadline:
                break
            self._news.clear()
            await came(self._news, deadline - self._loop.time())
            evidence = self._evidence(code)
        return evidence

    def _evidence(self, code: int) -> Evidence:
        assert self._mpirun is not None  # noqa: S101 - it has run
        slots = {place.name: place.slots for place in self._arranged.places}
        map_by = self._agent.settings.map_by
        return Evidence(
            code=code,
            halt=self._halting.order,
            stderr=self._mpirun.stderr,
            lost=tuple(self._lost.values()),
            leased=sum(not lease.plain for lease in self._leases.values()),
            workers=max(len(self._arranged.places), len(self._leases)),  # an elastic job grows
            program_exists=Path(self._plan.program).exists(),
            ranks=self.book.ranks(),
            expected=ranks.expected(slots, self._arranged.np, map_by),
            start_s=self._late_s,
            unreachable=self._unreachable,
            lingered=self._lingers,
            taken_down=self._taken_down,
            left=tuple(self._left),
            own=self._plan.own,
            testimony=dict(self._roll_call.testimony),
            here=self._witness.testify(),
            shm_bytes=self._plan.shm_bytes,
            warned_s=self._warned_s,
        )

    def _reports_are_due(self, evidence: Evidence) -> bool:
        """Tell whether a report that decides the verdict may still be on its way."""
        seen = evidence.ranks
        if evidence.own:
            return evidence.code != 0 and len(seen.started) > 0 and not seen.failures
        if not seen.np:
            return False
        if evidence.code == 0:
            return bool(evidence.missing)
        return len(seen.ends) < max(1, len(seen.started))

    def _rank_is_shown(self, rank: int, count: int) -> None:
        self._loop.call_soon_threadsafe(self._shown, rank, count)

    def _shown(self, rank: int, count: int) -> None:
        """Tell a rank's wrapper how much has come; where it is, not all of us know."""
        host = self.book.ranks().started.get(rank)
        message = messages.rank_message({"rank": rank, "event": "shown", "count": count})
        for lease in [self._leases[host]] if host in self._leases else self._leases.values():
            lease.send(message)
        self._tell_own(message)

    async def _until_ended(self, child: Child) -> None:
        """Wait for mpirun's end, or bring it about: when ordered, when a worker is lost, in time."""
        halt = asyncio.ensure_future(self._halting.ordered.wait())
        while not child.ended.done() and not halt.done():
            self._news.clear()
            if self._lost:
                await self._take_down_for_lost(child, halt)
                break
            advice = ranks.advise(
                self.book, self._terms, begun=self._begun,
                quiet_since=self._quiet_since(), now=self._loop.time(),
                hindered=lambda: self._witness.testify().forks_refused > 0,
            )  # fmt: skip
            self._lingers = advice.lingers
            if advice.too_late:
                self._late_s = advice.patience_s
            if advice.too_late or advice.lingers:
                await self._take_down_in_time(child)
                break
            news = asyncio.ensure_future(self._news.wait())
            patience = None if advice.until is None else advice.until - self._loop.time()
            await _first({child.ended, halt, news}, patience)
            news.cancel()
        halt.cancel()
        if child.running:
            await self._halt(child, self._halting.order or Halt(cause=Cause.SIGNAL))

    @property
    def _tell_here(self) -> Callable[[Message], None] | None:
        """What sends an order to the ranks of this very container; None: there are none."""
        here = any(not place.address for place in self._arranged.places)
        return self._tell_own if here else None

    def _quiet_since(self) -> float:
        assert self._mpirun is not None  # noqa: S101 - it runs
        return self._mpirun.heard_at

    async def _halt(self, child: Child, order: Halt) -> None:
        """Let the ranks save their work, then end mpirun."""
        final = order.cause in (Cause.SIGNAL, Cause.DEADLINE)
        ladder = self._agent.ladder if final else None
        self._warning = Forewarning(self._agent, self._leases, self._tell_here, child)
        if order.cause not in (Cause.STALLED, Cause.CUT_OFF):  # ranks that hang save nothing
            self._warned_s = await self._warning.give(lambda: self.book.all_ended, ladder)
        if self._warned_s is not None:  # an mpirun that is ending by itself may crash of a signal
            await asyncio.wait({child.ended}, timeout=_OWN_END_S)
        if child.running:
            if ladder is None:
                stopped = self._agent.stopped.is_set()
                ladder = self._agent.ladder if stopped else Ladder(_TAKE_DOWN_S)
            number = order.signal if order.cause is Cause.SIGNAL else signal.SIGTERM
            await ladder.stop(child, number)

    async def _take_down_for_lost(self, child: Child, halt: asyncio.Future[Any]) -> None:
        first = next(iter(self._lost.values()))
        logger.error("%s was lost: %s; stopping the job", first.host, first.why)
        await _first({child.ended, halt}, _OWN_WORDS_S)
        if not child.ended.done() and not halt.done():
            self._taken_down = True
            await Ladder(_TAKE_DOWN_S).stop(child)

    async def _take_down_in_time(self, child: Child) -> None:
        if self._lingers:
            logger.warning("all ranks have ended, and mpirun has not: stopping it")
        else:
            logger.error("not all ranks have started in %g s: stopping mpirun", self._late_s)
            self._unreachable = await self._calls.unreachable(self._leases)
        await Ladder(_TAKE_DOWN_S).stop(child)

    def follow(self, name: str, lease: Lease) -> None:
        """Hear a worker that takes part, and know when it is lost."""
        self._leases[name] = lease

        def gone(why: str, how: How) -> None:
            late = self._agent.target is None
            self._explaining[name] = asyncio.ensure_future(
                self._lose(name, lease, why, how, late=late)
            )
            self.on_gone(name)
            self.on_lost(name, why)

        lease.attach(lambda message: self.hear(name, message), gone)
        lease.send(Message(kind=messages.PHASE, body={"stage": "running"}))

    async def _lose(self, name: str, lease: Lease, why: str, how: How, *, late: bool) -> None:
        """Take note of a loss once its kind is known; the order of the losses is kept."""
        if self._agent.settings.elastic:
            del self._leases[name]
            known = await losing.explain(lease, why, how, self._agent.settings.lease_timeout_s)
            logger.warning("%s was lost: %s; the elastic job goes on", name, known.why)
            self._left.append(Lost(host=name, why=known.why, late=late))
            return
        self._lost[name] = Lost(host=name, why=why, late=late)
        known = await losing.explain(lease, why, how, self._agent.settings.lease_timeout_s)
        self._lost[name] = Lost(host=name, why=known.why, late=late, kind=known.kind)
        if not late:
            self._counts.was_lost(name, known)
            self._agent.report()
        self._news.set()


async def _first(futures: set[asyncio.Future[Any]], timeout_s: float | None = None) -> None:
    await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
