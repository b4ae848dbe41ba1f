"""One attempt of the launcher: gather, plan, claim, run, judge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mpiboot.errors import ExitCode, LaunchFailedError, NotReadyError
from mpiboot.link import messages, sshlibrary
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.model.counting import counted
from mpiboot.model.hosts import Listed, Source
from mpiboot.model.outcome import Fault, Outcome, Stage
from mpiboot.plan import discovery, gather, limits, parties, verdict
from mpiboot.plan.gather import Decision, Verb
from mpiboot.plan.identity import Own
from mpiboot.plan.layout import Layout
from mpiboot.plan.modes import Purpose
from mpiboot.plan.release import Over
from mpiboot.report.terminal.waiting import WaitTable
from mpiboot.roles import (
    account,
    approaching,
    elastic,
    goodbye,
    ground,
    installation,
    keyring,
    rshagent,
)
from mpiboot.roles.agent import Agent
from mpiboot.roles.claiming import Claimant
from mpiboot.roles.discovery import Discovery
from mpiboot.roles.finding import Finder
from mpiboot.roles.gathering import Gathering
from mpiboot.roles.halting import Halting
from mpiboot.roles.installation import Installation
from mpiboot.roles.launcher_view import LauncherView
from mpiboot.roles.planning import Planned, Planning
from mpiboot.roles.sharing import Sharing
from mpiboot.roles.watching import Watch
from mpiboot.roles.witness import Witness
from mpiboot.runtime.keys import KeyMaterial

# A fault of our own is told at once, but workers that are ready are released first.
_RELEASE_S = 3.0


class Attempt:
    """One way from the first look-up to the verdict.

    Attributes:
        halting: the order to end it.

    Args:
        agent: the agent at work.
        view: what the outside sees.
        claimant: this launcher, as workers know it.
        tell_own: sends a message to the ranks of this very container.
        purpose: what it is for.
        find: chooses who finds hosts that no list names.
    """

    def __init__(
        self,
        agent: Agent,
        view: LauncherView,
        claimant: Claimant,
        tell_own: Callable[[Message], None],
        purpose: Purpose,
        *,
        find: Callable[[Source], Listed | Finder],
    ) -> None:
        self._agent = agent
        self._settings = agent.settings
        self._view = view
        self._claimant = claimant
        self._tell_own = tell_own
        self._purpose = purpose
        self._find = find
        self._witness = Witness(lambda: 0)
        self._gathering: Gathering | None = None
        self._watch: Watch | None = None
        self._discovery: Discovery | None = None
        self._sharing = Sharing(agent)
        self.halting = Halting(agent)

    @property
    def leases(self) -> list[Lease]:
        """The leases that are open."""
        return list(self._gathering.leases.values()) if self._gathering else []

    async def run(self) -> Outcome:
        """Make the attempt; whatever goes wrong becomes its outcome."""
        try:
            return await self._run()
        except Exception as fault:  # noqa: BLE001 - the workers must hear of a fault of ours, too
            outcome = verdict.of_error(fault)
            if outcome.code == ExitCode.INTERNAL:
                logger.error("internal fault", exc_info=fault)
            return outcome
        finally:
            self._sharing.close()
            self.halting.close()

    def hear_own(self, message: Message) -> None:
        """Take the report of a rank that runs in this very container."""
        here = (
            [one.name for one in self._view.layout.places if not one.address]
            if self._view.layout
            else []
        )
        if self._watch is not None and here:
            self._watch.hear(here[0], message)

    async def release(self, over: Over) -> None:
        """Tell every worker how it ended, and let go of it."""
        if self._gathering is not None:
            await self._gathering.stop()
            unheld = goodbye.visit(over, self._gathering.unvisited, self._gathering.again)
            untold, _ = await asyncio.gather(unheld, goodbye.say(over, self.leases))
            if untold:
                logger.warning("%s could not be told of the end", parties.listed(untold))

    async def keep(self, over: Over) -> None:
        """Tell every worker that it has ended, and hold on to the leases."""
        if self._gathering is not None:
            await self._gathering.stop()
        await goodbye.tell(over, self.leases)
        for lease in self.leases:
            lease.send(Message(kind=messages.PHASE, body={"stage": "paused"}))

    async def _run(self) -> Outcome:
        agent = self._agent
        source = ground.find_source(self._settings, agent.env)
        installed = asyncio.ensure_future(self._find_installed())
        installed.add_done_callback(_taken_note)
        loop = asyncio.get_running_loop()
        own = await loop.run_in_executor(None, ground.own, agent.job_env)
        # Workers' sshds answer while keys are made here, and what speaks to them is loaded.
        loop.run_in_executor(None, sshlibrary.load)
        keys = asyncio.ensure_future(keyring.prepare(self._settings, agent.env, agent.directory))
        self._enter(Stage.WAITING)
        decision = await self._gather(source, keys, own, installed)
        if decision is None:
            return agent.stopped_while("waiting for workers")
        if decision.verb is Verb.FAIL:
            raise self._not_ready(decision)
        self._enter(Stage.LAUNCHING)
        if not await agent.unless_stopped(installed):
            return agent.stopped_while("launching")
        planning = Planning(agent, installed.result(), await keys, self._view.command)
        masters = {} if self._purpose.rehearsal else self._shared(decision, own)
        planned = await planning.plan(decision, own, self._own_address(own), masters)
        self._view.layout, self._view.plan = planned.arranged, planned.plan
        if self._purpose.rehearsal:
            logger.info("%s", planned.plan.text().rstrip("\n"))
            return Outcome(code=0, fault=Fault.NONE, message="everything is prepared")
        return await self._launch(planned, installed.result(), decision)

    def _enter(self, stage: Stage) -> None:
        """Enter a stage before the job runs; after a pause that is all one."""
        self._agent.enter(Stage.RESUMING if self._purpose.resuming else stage)

    async def _find_installed(self) -> Installation:
        if self._purpose.fault is not None:
            raise self._purpose.fault
        agent = self._agent
        return await installation.find(
            self._settings, agent.job_env, agent.children, self._view.command
        )

    async def _gather(
        self,
        source: Source,
        keys: asyncio.Future[KeyMaterial],
        own: Own,
        installed: asyncio.Future[Installation],
    ) -> Decision | None:
        """Wait for the workers; None when stopped meanwhile."""
        settings, agent = self._settings, self._agent
        through = rshagent.through(agent)
        user = "" if through else settings.ssh_user or account.name(agent.job_env)
        terms = asyncio.ensure_future(approaching.terms(settings, keys, self._claimant.launcher_id))
        terms.add_done_callback(_taken_note)
        approach = approaching.approach(settings, terms, user, through)
        table = WaitTable(settings.progress, agent.env, settings.slots)
        self._gathering = Gathering(self._find(source), approach, own, table)
        self._gathering.on_view = self._view.on_view
        self._view.gathering = self._gathering
        script = discovery.path(settings, str(agent.directory))
        self._discovery = found = Discovery(script, self._gathering, settings, own.hostname)
        self._gathering.on_change = lambda _name: found.update()
        waiting = asyncio.ensure_future(self._gathering.run())
        waiting.add_done_callback(_taken_note)
        done = await agent.unless_stopped(_first_fault(waiting, installed, terms))
        return waiting.result() if done else None

    def _shared(self, decision: Decision, own: Own) -> Mapping[str, str]:
        """Share the leases of those who take part; host → socket."""
        leases = self._gathering.leases if self._gathering else {}
        names = [one.host.name for one in decision.chosen]
        held = {name: leases[name] for name in names if name in leases}
        return self._sharing.begin(held, own.facts.cpus)

    def _not_ready(self, decision: Decision) -> NotReadyError:
        seen = list(self._gathering.seen.values()) if self._gathering else []
        waited = self._gathering.waited_s if self._gathering else 0.0
        table = gather.table(seen, waited)
        shortage = limits.told("the launcher", self._witness.testify())
        reason = "; ".join(filter(None, (decision.reason, shortage)))
        return NotReadyError(f"{reason}\n{table}" if seen else reason)

    def _own_address(self, own: Own) -> str:
        """Return the address of this container that workers see; empty where all ranks run here."""
        if self._settings.rsh_agent:  # nobody has seen it: a pod has one, or the first is the one
            return next(iter(own.addresses), "")
        leases = self._gathering.leases.values() if self._gathering else ()
        return next((lease.own_address for lease in leases if lease.own_address), "")

    async def _launch(
        self, planned: Planned, installed: Installation, decision: Decision
    ) -> Outcome:
        agent, plan, arranged = self._agent, planned.plan, planned.arranged
        waited = self._gathering.waited_s if self._gathering else 0.0
        logger.info(
            "%s ready after %.1f s; %s",
            counted(len(arranged.places), "worker"),
            waited,
            plan.notes[0],
        )
        for line in plan.told:
            logger.info("%s", line)
        for line in plan.warned:
            logger.warning("%s", line)
        chosen = self._chosen_leases(arranged)
        claimed = self._claimant.claim(chosen, self._settings.attempt_timeout_s)
        if not await agent.unless_stopped(claimed):
            return agent.stopped_while("launching")
        agent.enter(Stage.RUNNING)
        self._watch = Watch(
            self.halting, chosen, arranged, plan, self._tell_own, counts=self._view.counts
        )
        self._watch.on_gone = self._sharing.forget
        self._view.book = self._watch.book
        if self._gathering is not None and self._discovery is not None:
            access = planned.access(self._claimant) if planned.access is not None else None
            elastic.begin(self._gathering, self._discovery, self._watch, decision.chosen, access)
        evidence = await self._watch.run()
        outcome = verdict.judge(evidence, installed.dialect, arranged)
        self._view.counts.settle(evidence.lost, outcome.lost)
        return outcome

    def _chosen_leases(self, arranged: Layout) -> dict[str, Lease]:
        """Return the leases of those who take part; each must have one but this very container.

        Raises:
            LaunchFailedError: one went away since the wait ended.
        """
        leases = self._gathering.leases if self._gathering else {}
        held = (
            {*leases, *(one.host.name for one in self._gathering.unheld)}
            if self._gathering
            else {*leases}
        )
        gone = [one.name for one in arranged.places if one.address and one.name not in held]
        if gone:
            raise LaunchFailedError(f"{gone[0]} went away while the job was being launched")
        return {one.name: leases[one.name] for one in arranged.places if one.name in leases}


def _taken_note(task: asyncio.Future[Any]) -> None:
    """Leave no fault to the garbage collector, which tells of it where another one ends the run."""
    if not task.cancelled():
        task.exception()


async def _first_fault(
    waiting: asyncio.Future[Decision],
    installed: asyncio.Future[Installation],
    terms: asyncio.Future[Any],
) -> None:
    """Wait for the decision; a fault of the keys ends the wait, and one of the installation soon.

    The moment lets workers that are up be reached, so that they can be released; without keys they
    cannot.
    """
    pending: set[asyncio.Future[Any]] = {waiting, installed, terms}
    try:
        while not waiting.done():
            ended, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if terms in ended:
                terms.result()
            if installed in ended and installed.exception() is not None:
                await asyncio.wait({waiting}, timeout=_RELEASE_S)
                installed.result()
    finally:
        if not waiting.done():
            waiting.cancel()
            await asyncio.wait({waiting})
