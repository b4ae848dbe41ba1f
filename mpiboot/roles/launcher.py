"""The launcher: find the workers, wait for them, run mpirun, judge, tell everybody."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpiboot.errors import LaunchFailedError, MpibootError, NotReadyError
from mpiboot.link import client, messages, server
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.link.server import LinkServer
from mpiboot.log import logger
from mpiboot.model.hosts import Source
from mpiboot.model.outcome import Outcome, Stage
from mpiboot.plan import gather, launch, layout, owning, standins, verdict
from mpiboot.plan.gather import Decision, Verb
from mpiboot.plan.identity import Own
from mpiboot.plan.launch import Ground, LaunchPlan
from mpiboot.plan.layout import Layout
from mpiboot.plan.release import Over
from mpiboot.report.progress import Bar
from mpiboot.roles import describing, gathering, goodbye, ground, installation
from mpiboot.roles.agent import SOCKET, Agent
from mpiboot.roles.gathering import Approach, Gathering
from mpiboot.roles.installation import Installation
from mpiboot.roles.launcher_view import LauncherView
from mpiboot.roles.serving import default_port
from mpiboot.roles.watching import Watch
from mpiboot.runtime import files, keymaking, keys, sshd
from mpiboot.runtime.keys import KeyMaterial

# A fault of our own is told at once, but workers that are ready are released first.
_RELEASE_S = 3.0


class Launcher:
    """One launcher run."""

    def __init__(self, agent: Agent, command: Sequence[str]) -> None:
        self._agent = agent
        self._settings = agent.settings
        self._view = LauncherView(command=list(command), timeline=agent.timeline)
        self._gathering: Gathering | None = None
        self._watch: Watch | None = None
        self._own_link: LinkServer | None = None
        agent.not_ready = self._view.not_ready
        agent.details = self._view.details
        agent.families = self._view.families

    async def run(self) -> Outcome:
        """Bring one job from its start to its verdict; the workers always hear of it."""
        agent = self._agent
        pulse = asyncio.ensure_future(self._pulse())
        self._own_link = probes = server.without_leases(
            lambda what: self._view.not_ready() if what == "ready" else "", self._hear_own_rank
        )
        agent.report()
        try:
            await probes.start(agent.directory / SOCKET)
            outcome = await self._attempt()
        except Exception as fault:  # noqa: BLE001 - the workers must hear of a fault of ours, too
            outcome = verdict.of_error(fault)
            if not isinstance(fault, MpibootError):
                logger.error("internal fault", exc_info=fault)
        finally:
            pulse.cancel()
        self._view.outcome = outcome
        agent.enter(Stage.ENDING)
        await self._release(outcome)
        probes.stop()
        return outcome

    async def _pulse(self) -> None:
        """Keep all leases alive, and find those that are lost."""
        settings = self._settings
        while True:
            await asyncio.sleep(settings.heartbeat_s)
            for lease in list(self._gathering.leases.values()) if self._gathering else ():
                lease.send(Message(kind=messages.BEAT))
                lease.check(settings.lease_timeout_s)

    async def _attempt(self) -> Outcome:
        agent = self._agent
        source = ground.find_source(self._settings, agent.env)
        installed = asyncio.ensure_future(
            installation.find(self._settings, agent.job_env, agent.children, self._view.command)
        )
        # A fault that ends the run earlier must not leave this one's to the garbage collector.
        installed.add_done_callback(lambda task: task.cancelled() or task.exception())
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, client.load)
        origin = keys.find(self._settings, agent.env)
        material = await loop.run_in_executor(None, keymaking.prepare, origin, agent.directory)
        own = await loop.run_in_executor(None, ground.own, agent.job_env)
        agent.enter(Stage.WAITING)
        decision = await self._gather(source, material, own, installed)
        if decision is None:
            return verdict.of_stop(agent.stop_signal or 15, "waiting for workers")
        if decision.verb is Verb.FAIL:
            raise self._not_ready(decision)
        agent.enter(Stage.LAUNCHING)
        if not await agent.unless_stopped(installed):
            return verdict.of_stop(agent.stop_signal or 15, "launching")
        if any(one.here for one in decision.chosen):
            own = await self._describe_here(own)
        plan, arranged = self._plan(decision, material, own, installed.result())
        return await self._launch(plan, arranged, installed.result())

    async def _gather(
        self,
        source: Source,
        material: KeyMaterial,
        own: Own,
        installed: asyncio.Future[Installation],
    ) -> Decision | None:
        """Wait for the workers; None when stopped meanwhile."""
        settings, agent = self._settings, self._agent
        approach = Approach(
            login=client.Terms(
                identity=material.identity,
                host_publics=material.host_publics,
                known_hosts=ground.known_hosts(settings, material),
                hello=gathering.hello(),
                timeout_s=settings.attempt_timeout_s,
                lost_s=settings.lease_timeout_s,
            ),
            user=settings.ssh_user or sshd.account(),
            port=default_port(settings),
            attempt_s=settings.attempt_timeout_s,
            settle_s=settings.settle_s,
            deadline_s=settings.wait_timeout_s,
            strikes=settings.strikes,
        )
        self._gathering = Gathering(source, approach, own, Bar(settings.progress))
        self._view.gathering = self._gathering
        waiting = asyncio.ensure_future(self._gathering.run())
        done = await agent.unless_stopped(_first_fault(waiting, installed))
        return waiting.result() if done else None

    def _not_ready(self, decision: Decision) -> NotReadyError:
        seen = list(self._gathering.seen.values()) if self._gathering else []
        waited = self._gathering.waited_s if self._gathering else 0.0
        table = gather.table(seen, waited)
        return NotReadyError(f"{decision.reason}\n{table}" if seen else decision.reason)

    def _plan(
        self, decision: Decision, material: KeyMaterial, own: Own, installed: Installation
    ) -> tuple[LaunchPlan, Layout]:
        agent, settings = self._agent, self._settings
        arranged = layout.arrange(
            decision.chosen, own_hostname=own.hostname, slots=settings.slots, np=settings.np,
            oversubscribe=settings.oversubscribe,
        )  # fmt: skip
        self._view.layout = arranged
        what = ground.collect(
            settings, installed, material, directory=str(agent.directory), job_env=agent.job_env,
            own_address=self._own_address(), own=own,
        )  # fmt: skip
        plan = launch.prepare(
            settings, self._view.command, installed.dialect, what, look=installed.look,
            layout=arranged,
            facts=[own.facts if one.here else one.facts for one in decision.chosen],
        )  # fmt: skip
        if installed.own is not None:
            plan = self._own_plan(plan, installed, what, arranged)
        for file in plan.files:
            files.write(Path(file.path), file.text, mode=file.mode)
        for note in plan.notes:
            logger.debug("%s", note)
        logger.debug("mpirun is called as: %s", shlex.join(plan.argv))
        return plan, arranged

    async def _describe_here(self, own: Own) -> Own:
        """Learn of this container what workers tell of theirs: ranks will run here, too."""
        agent = self._agent
        facts = await describing.describe(
            agent.children, agent.job_env,
            session_env=agent.job_env, link=str(agent.directory / SOCKET),
        )  # fmt: skip
        return replace(own, facts=facts)

    def _own_plan(
        self, plan: LaunchPlan, installed: Installation, what: Ground, arranged: Layout
    ) -> LaunchPlan:
        """Plan for a command that starts mpirun itself."""
        assert installed.own is not None  # noqa: S101 - the caller has looked
        Path(standins.directory_of(what.directory)).mkdir(mode=0o700, exist_ok=True)
        return owning.plan(
            plan, installed.own, self._settings, installed.dialect, what,
            layout=arranged, command=self._view.command, programs=installed.programs,
        )  # fmt: skip

    def _own_address(self) -> str:
        """Return the address of this container that workers see; empty where all ranks run here."""
        leases = self._gathering.leases.values() if self._gathering else ()
        return next((lease.own_address for lease in leases if lease.own_address), "")

    async def _launch(self, plan: LaunchPlan, arranged: Layout, installed: Installation) -> Outcome:
        agent = self._agent
        waited = self._gathering.waited_s if self._gathering else 0.0
        logger.info(
            "%s workers ready after %.1f s; %s", len(arranged.places), waited, plan.notes[0]
        )
        for line in plan.told:
            logger.info("%s", line)
        if agent.stop_signal is not None:
            return verdict.of_stop(agent.stop_signal, "launching")
        leases = self._chosen_leases(arranged)
        agent.enter(Stage.RUNNING)
        self._watch = Watch(agent, leases, arranged, plan, self._tell_own_rank)
        evidence = await self._watch.run()
        return verdict.judge(evidence, installed.dialect, arranged)

    def _tell_own_rank(self, message: Message) -> None:
        if self._own_link is not None:
            self._own_link.tell_rank(message)

    def _hear_own_rank(self, message: Message) -> None:
        """Take the report of a rank that runs in this very container."""
        here = (
            [one.name for one in self._view.layout.places if not one.address]
            if self._view.layout
            else []
        )
        if self._watch is not None and here:
            self._watch.hear(here[0], message)

    def _chosen_leases(self, arranged: Layout) -> dict[str, Lease]:
        """Return the leases of those who take part; each must have one but this very container.

        Raises:
            LaunchFailedError: one went away since the wait ended.
        """
        leases = self._gathering.leases if self._gathering else {}
        gone = [one.name for one in arranged.places if one.address and one.name not in leases]
        if gone:
            raise LaunchFailedError(f"{gone[0]} went away while the job was being launched")
        return {one.name: leases[one.name] for one in arranged.places if one.name in leases}

    async def _release(self, outcome: Outcome) -> None:
        """Tell every worker that holds a lease how it ended."""
        final = outcome.code == 0 or self._settings.failure_is_final
        over = Over(code=outcome.code, final=final, ran=outcome.ran)
        await goodbye.say(over, list(self._gathering.leases.values()) if self._gathering else [])


async def _first_fault(
    waiting: asyncio.Future[Decision], installed: asyncio.Future[Installation]
) -> None:
    """Wait for the decision; a fault of the installation ends the wait, after a moment.

    The moment lets workers that are up be reached, so that they can be released.
    """
    try:
        either: set[asyncio.Future[Any]] = {waiting, installed}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if installed.done() and installed.exception() is not None:
            await asyncio.wait({waiting}, timeout=_RELEASE_S)
            installed.result()
        await asyncio.wait({waiting})
    finally:
        if not waiting.done():
            waiting.cancel()
            await asyncio.wait({waiting})
