"""The worker: readiness, leases, and leaving with the job."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mpiboot.errors import ExitCode
from mpiboot.link import control, messages
from mpiboot.link.messages import Message
from mpiboot.link.server import Callbacks, Lease, LinkServer
from mpiboot.log import logger
from mpiboot.model.outcome import Failure, Fault, Outcome, Stage
from mpiboot.model.record import replace
from mpiboot.plan import modes, release, verdict
from mpiboot.plan.sshlog import Line
from mpiboot.report import catalogue, metrics
from mpiboot.roles import beside, clearing, hooks, ranksignals, witness
from mpiboot.roles.agent import SOCKET, Agent
from mpiboot.roles.answering import Answering
from mpiboot.roles.clearing import Clearing
from mpiboot.roles.fence import Fence
from mpiboot.roles.leaving import Leaving
from mpiboot.roles.oom import Oom
from mpiboot.roles.orphans import OrphanWatch
from mpiboot.roles.serving import Service, default_port
from mpiboot.roles.witness import Witness
from mpiboot.runtime import files, processes
from mpiboot.runtime.within import came

if TYPE_CHECKING:
    from mpiboot.roles.announcing import Announcer

_SESSION_POLL_S = 1.0
# What ranks and sshd have written is read before we testify: it lies there by now, and from a new
# connection to a message it takes four turns of the loop.
_TURNS = 12


class Worker:
    """One worker run."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._settings = agent.settings
        self._loop = asyncio.get_running_loop()
        self._seen = release.Seen(ready_at=self._loop.time())
        patient = agent.settings.debug
        self._terms = release.Terms(
            first_contact_s=math.inf if patient else agent.settings.first_contact_s,
            retry_grace_s=math.inf if patient else agent.settings.retry_grace_s,
        )
        self._oom = Oom()
        self._not_ready = "starting"
        self._contacted = False
        self._running = False
        self._unheld: set[Lease] = set()
        self._job_came = False
        self._service = Service(
            agent,
            on_login=self._login,
            on_down=self._become_unready,
            on_up=self._be_ready,
            on_fail=self._sshd_gone,
            on_facts=self._tell_facts,
        )
        self._witness = Witness(lambda: self._service.sshd.restarts if self._service.sshd else 0)
        self._link = LinkServer(
            Callbacks(
                on_open=self._opened,
                on_message=self._told,
                on_close=self._closed,
                on_probe=lambda what: self._not_ready if what == "ready" else "",
                on_rank=self._rank_reports,
                on_control=control.refuse_all,
                on_view=self._show,
                beat=witness.beat,
            ),
            beat_s=agent.settings.heartbeat_s,
            lost_s=agent.settings.lease_timeout_s,
        )
        self._answering = Answering(agent, self._link)
        self._fence = Fence(self._link, Clearing(agent, self._link), self._witness)
        self._leaving = Leaving(agent, self._link)
        self._announcer = _announcer(agent, self._service)
        self._orphans = OrphanWatch(self._tell_launchers)
        agent.not_ready = lambda: self._not_ready
        agent.details = self._details
        agent.families = self._families
        agent.restarts = lambda: self._service.sshd.restarts if self._service.sshd else 0

    async def run(self) -> Outcome:
        """Serve until the job is over, then drain."""
        agent = self._agent
        try:
            started = await agent.unless_stopped(self._become_ready())
            # A quick launcher's ranks may run here before our own proof of a login is done.
            if started or self._running:
                return await self._serve()
            return verdict.of_stop(agent.stop_signal or 15, "starting")
        finally:
            await self._drain()

    async def _become_ready(self) -> None:
        await self._link.start(self._agent.directory / SOCKET)
        self._not_ready = "no login to this container's sshd has worked yet"
        self._agent.report()
        modes.words_of(self._settings.debug_command, "--debug-command")
        clearing.shared_memory()
        await hooks.before(self._agent)
        await self._service.start()
        self._seen = replace(self._seen, ready_at=self._loop.time())
        self._be_ready()
        self._agent.enter(Stage.READY)
        self._follow()
        if self._announcer is not None:
            self._announcer.start()
        beside.start(self._agent)

    def _be_ready(self) -> None:
        self._not_ready = ""
        files.write(self._ready_file, "ready\n", mode=0o644)
        logger.info("ready on port %s", default_port(self._settings))
        self._agent.report()

    def _follow(self) -> None:
        """Show the job's stage; a quick launcher starts it before this worker's own proof is done."""
        if not self._not_ready:
            self._agent.enter(Stage.RUNNING if self._running else Stage.READY)

    @property
    def _ready_file(self) -> Path:
        return Path(self._settings.ready_file or self._agent.directory / "ready")

    def _become_unready(self, why: str) -> None:
        self._not_ready = why
        with contextlib.suppress(OSError):
            self._ready_file.unlink()
        self._agent.report()

    async def _serve(self) -> Outcome:
        """Stay as long as the release rules say so."""
        agent = self._agent
        while True:
            if agent.stop_signal is not None:
                stage = agent.timeline.stage.value
                if self._running:
                    await self._leaving.warn(lambda: self._seen.over is not None)
                return replace(verdict.of_stop(agent.stop_signal, stage), ran=self._used)
            if self._service.failed:
                return self._failure(ExitCode.LAUNCH_FAILED, self._service.failed)
            self._count_sessions()
            decision = release.decide(self._seen, self._terms, self._loop.time())
            match decision:
                case release.Exit(code=ExitCode.OK, reason=reason):
                    return Outcome(code=0, fault=Fault.NONE, message=reason, ran=self._used)
                case release.Exit(code=code, reason=reason):
                    return self._failure(code, reason)
                case release.Stay(until=until):
                    await self._until_something(until)

    @property
    def _used(self) -> bool:
        return self._seen.over.ran if self._seen.over is not None else self._contacted

    def _failure(self, code: ExitCode, reason: str) -> Outcome:
        return Outcome(
            code=int(code),
            fault=Fault.INFRASTRUCTURE,
            message=reason,
            failures=(Failure(message=reason),),
            ran=self._used,
        )

    async def _until_something(self, until: float | None) -> None:
        """Sleep until an event, a set time, or the next look at plain sessions."""
        changed = self._agent.changed
        times = [until] if until is not None else []
        if self._seen.sessions and not self._seen.leases:
            times.append(self._loop.time() + _SESSION_POLL_S)
        wait = max(0.01, min(times) - self._loop.time()) if times else None
        await came(changed, wait)
        changed.clear()

    def _count_sessions(self) -> None:
        """Keep book of SSH sessions that are not leases, and of daemons that outlive theirs.

        That is all that is seen of a plain mpirun: it logs in, and its daemon may detach.
        """
        if self._service.sshd is None or not self._contacted or self._seen.leases:
            return
        open_now = self._service.sshd.sessions() + processes.adopted(ranksignals.DAEMONS)
        # The session of a lease that was let go ends a moment after it, and is none of the job's.
        awaited = self._seen.unheld_since is not None and not self._job_came
        if not open_now and not awaited and (self._seen.sessions or self._seen.quiet_since is None):
            self._seen = replace(self._seen, quiet_since=self._loop.time())
        self._seen = replace(self._seen, sessions=open_now)

    def _login(self, what: Line) -> None:
        if what is Line.SESSION:
            self._witness.session()
            self._job_came = True
        self._contacted = self._contacted or what is Line.ACCEPTED
        self._agent.changed.set()

    def _sshd_gone(self, why: str) -> None:
        self._become_unready(why)
        self._agent.changed.set()

    def _opened(self, lease: Lease, message: Message) -> None:
        logger.info("launcher %s is here", message.text("launcher") or "without a name")
        self._contacted = True
        self._seen = replace(
            self._seen, leases=len(self._link.leases), over=None, unheld_since=None
        )
        self._held(held=True)
        self._send_facts(lease)
        self._agent.changed.set()

    def _held(self, *, held: bool) -> None:
        """Announce this node to the launcher that it knows while no launcher holds it."""
        if self._announcer is not None:
            self._announcer.leased(held=held)

    def _send_facts(self, lease: Lease) -> None:
        """Tell a launcher what is here, if that is known yet."""
        if self._service.facts is not None:
            ticket = self._fence.ticket(lease)
            lease.send(messages.facts_message(self._service.facts, ticket))

    def _tell_facts(self) -> None:
        """Tell those who came too early: one that logged in need not wait for our own proof."""
        for lease in self._link.leases:
            self._send_facts(lease)

    def _told(self, lease: Lease, message: Message) -> None:
        if message.kind == messages.OVER:
            over = messages.read_over(message)
            if over is not None:
                self._seen = replace(self._seen, over=over)
                lease.over = True
                lease.send(Message(kind=messages.BYE))
                if not over.final:
                    self._fence.over(lease)
                self._agent.changed.set()
        elif message.kind == messages.PHASE:
            self._hear_phase(lease, message)
        elif message.kind == messages.CLAIM:
            self._fence.hear(lease, message)
        elif message.kind == messages.WITNESS:
            self._testify(lease, _TURNS)
        else:
            self._answering.hear(lease, message)

    def _show(self, client: Lease, message: Message) -> None:
        self._answering.show(client, message)

    def _hear_phase(self, lease: Lease, message: Message) -> None:
        """Follow the job; a launcher that has too many leases goes, and its job comes all the same."""
        self._running = message.text("stage") == Stage.RUNNING.value
        self._follow()
        if message.body.get("leased") is False:
            logger.info("launcher %s has too many leases to hold this one", lease.launcher)
            self._unheld.add(lease)

    def _testify(self, lease: Lease, turns: int) -> None:
        if turns:
            self._loop.call_soon(self._testify, lease, turns - 1)
            return
        lease.send(messages.testimony_message(self._witness.testify()))

    def _rank_reports(self, message: Message) -> None:
        """Pass on what a rank of this container says; the launcher has no other ear here."""
        self._orphans.hear(message)
        self._tell_launchers(self._oom.mark(message))

    def _tell_launchers(self, message: Message) -> None:
        for lease in self._link.leases:
            lease.send(message)

    def _closed(self, lease: Lease, reason: str) -> None:
        now = self._loop.time()
        self._seen = replace(self._seen, leases=len(self._link.leases), silent_since=now)
        self._held(held=bool(self._link.leases) or lease in self._unheld)
        if lease in self._unheld:
            self._unheld.discard(lease)
            self._job_came = False
            self._seen = replace(self._seen, silent_since=None, quiet_since=None, unheld_since=now)
            self._agent.changed.set()
            return
        if not lease.over and not self._not_ready:
            logger.warning("the lease of launcher %s is lost: %s", lease.launcher, reason)
        if not lease.over:
            self._fence.lost(lease)
            ranksignals.release(self._link)  # what it ordered is not for the ranks of the next one
        if not self._link.leases and (self._seen.over is None or not self._seen.over.final):
            self._running = False
            self._follow()
        self._agent.changed.set()

    async def _drain(self) -> None:
        """End ranks first, then sshd."""
        agent = self._agent
        self._become_unready("ending")
        agent.enter(Stage.ENDING)
        if self._announcer is not None:
            self._announcer.stop()
        await self._answering.part()
        self._link.stop()
        serving = self._service.sshd
        if serving is None or serving.child is None:
            return
        if serving.child.running:
            family = [serving.child.pid, *processes.descendants(serving.child.pid)]
            spare = {pid for pid in family if processes.name(pid).startswith("sshd")}
            await agent.ladder.sweep(spare)
        serving.stop()

    def _details(self) -> dict[str, object]:
        return {
            "ready": not self._not_ready,
            "not_ready_reason": self._not_ready,
            "ssh_port": default_port(self._settings),
            "leases": [lease.launcher for lease in self._link.leases],
        }

    def _families(self) -> Sequence[metrics.Family]:
        service = self._service
        restarts = service.sshd.restarts if service.sshd is not None else 0
        return (
            catalogue.READY.one(float(not self._not_ready)),
            catalogue.LEASES.one(len(self._link.leases)),
            catalogue.SSHD_RESTARTS.one(restarts),
            catalogue.SSHD_REJECTED.one(service.rejected),
            *witness.memory_families(),
        )


def _announcer(agent: Agent, service: Service) -> Announcer | None:
    """Make what announces this node, where it has somebody to announce itself to."""
    if not agent.settings.announce_to:
        return None
    from mpiboot.roles.announcing import Announcer  # noqa: PLC0415 - most workers need none

    return Announcer(agent, service.client_config)


async def work(agent: Agent) -> Outcome:
    """Run the worker role."""
    if agent.settings.rsh_agent:
        from mpiboot.roles import rshagent  # noqa: PLC0415 - few workers are without sshd

        return await rshagent.idle(agent)
    return await Worker(agent).run()
