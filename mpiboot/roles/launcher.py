"""The launcher: attempts at the job, one after the other, until one counts, as it is asked for."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpiboot.errors import MpibootError
from mpiboot.link import messages, server
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.model.outcome import Outcome, Stage
from mpiboot.model.record import replace
from mpiboot.plan import departure, modes, retry, verdict
from mpiboot.plan.evidence import Cause, Halt
from mpiboot.plan.modes import Event, Mode, Purpose
from mpiboot.plan.rankrules import ATTEMPT
from mpiboot.plan.release import Over
from mpiboot.plan.retry import Kind, Tally, Terms
from mpiboot.roles import (
    account,
    beside,
    finding,
    ground,
    hooks,
    launcher_gauges,
    pages,
    ranksignals,
    stalling,
)
from mpiboot.roles.agent import SOCKET, Agent
from mpiboot.roles.attempt import Attempt
from mpiboot.roles.claiming import Claimant
from mpiboot.roles.controlling import Control
from mpiboot.roles.deadline import Deadline
from mpiboot.roles.launcher_view import LauncherView
from mpiboot.roles.oom import Oom
from mpiboot.roles.reception import Reception
from mpiboot.runtime.within import came

if TYPE_CHECKING:
    from mpiboot.roles.viewing import Viewing

THREADS = 64  # logins, mostly: how many calls may block beside the loop
_BEATS = 32  # at once: a beat costs a tenth of a millisecond, and the loop has other work


class Launcher:
    """One launcher run."""

    def __init__(self, agent: Agent, command: Sequence[str]) -> None:
        self._agent = agent
        self._settings = settings = agent.settings
        self._command = list(command)
        self._view = LauncherView(command=self._command, timeline=agent.timeline)
        self._claimant = Claimant()
        self._attempt: Attempt | None = None
        self._tally = Tally()
        self._ran = False
        self._number = 0
        self._control = Control(agent, self._order_pause)
        self._deadline = Deadline(settings.deadline_s, agent.expire)
        self._oom = Oom()
        self._answers: deque[asyncio.Future[None]] = deque(maxlen=4)
        self._reception = Reception(agent, self._view.held)
        self._own_link = server.without_leases(
            lambda what: self._view.not_ready() if what == "ready" else "",
            self._hear_own_rank,
            self._control.hear,
            self._reception.hear,
            self._show,
        )
        self._view.on_view = self._show_worker
        pages.offer(agent, lambda: self._viewing)
        agent.not_ready = self._view.not_ready
        agent.details = self._view.details
        agent.families = launcher_gauges.of(self._view)
        agent.tasks = self._view.tasks
        agent.troubled = self._view.troubled
        agent.silent = self._view.silent
        agent.record = self._view.record

    @functools.cached_property
    def _viewing(self) -> Viewing:
        from mpiboot.roles.viewing import Viewing  # noqa: PLC0415 - many jobs are never looked at

        return Viewing(self._agent, self._view, self._own_link)

    @property
    def _looked_at(self) -> bool:
        return "_viewing" in vars(self)

    def _show(self, looker: server.Lease, message: Message) -> None:
        self._viewing.hear(looker, message)

    def _show_worker(self, lease: Lease, message: Message) -> None:
        self._viewing.asked(lease, message)

    async def run(self) -> Outcome:
        """Bring one job from its start to its verdict; the workers always hear of it."""
        agent = self._agent
        pulse = asyncio.ensure_future(self._pulse())
        self._deadline.go()
        agent.report()
        try:
            await self._own_link.start(agent.directory / SOCKET)
            outcome = await self._live()
        except MpibootError as fault:
            outcome = verdict.of_error(fault)
        finally:
            pulse.cancel()
        self._view.outcome = outcome
        agent.enter(Stage.ENDING)
        self._control.happened(Event.STOPPED, outcome)
        if self._attempt is not None:
            settings = self._settings
            over = departure.last_word(
                outcome, settings.workers_leave, failure_is_final=settings.failure_is_final
            )
            if self._looked_at:
                self._viewing.tell_workers(outcome)
            await self._attempt.release(over)
        await self._control.part()
        if self._looked_at:
            await self._viewing.part(outcome)
        self._reception.close()
        self._own_link.stop()
        return outcome

    async def _live(self) -> Outcome:
        """Run the job once, or in debug mode as often as somebody asks for it."""
        agent = self._agent
        faults: list[MpibootError] = []
        if not await agent.unless_stopped(self._prepare(faults)):
            return agent.stopped_while("hooks ran")
        if faults:
            return await self._new_attempt(Purpose(fault=faults[0])).run()
        if not self._settings.debug:
            return await self._attempts()
        outcome = await self._rehearse()
        while not agent.stopped.is_set():
            self._deadline.hold()
            asked = await self._control.rest(Stage.IDLE)
            if asked is None:
                return self._stopped_while("idle")
            self._deadline.go()
            self._view.command = list(asked.command or self._command)
            await self._let_go(final=False)
            self._tally, self._number = Tally(), 0
            outcome = await self._attempts()
            if not agent.stopped.is_set():
                self._tell_end(outcome)
        return outcome

    async def _prepare(self, faults: list[MpibootError]) -> None:
        """Do what comes before the wait; a fault is kept until workers can be released."""
        try:
            if not self._settings.rsh_agent:
                account.settle(self._agent.job_env, self._agent.directory, serving=False)
            modes.words_of(self._settings.resume_command, "--resume-command")
            modes.words_of(self._settings.debug_command, "--debug-command")
            await hooks.before(self._agent, self._np)
            await self._reception.open(ground.find_source(self._settings, self._agent.env))
        except MpibootError as fault:
            faults.append(fault)

    def _np(self) -> int:
        return self._view.layout.np if self._view.layout is not None else self._settings.np

    async def _rehearse(self) -> Outcome:
        """Prepare everything and show the plan; where that fails, somebody is there to see why."""
        outcome = await self._new_attempt(Purpose(rehearsal=True)).run()
        self._control.happened(Event.PREPARED)
        if self._agent.stopped.is_set():
            return outcome
        if outcome.code:
            logger.error("not prepared: exit %s: %s", outcome.code, outcome.message)
        beside.start(self._agent)
        logger.info("idle: `mpiboot run` in this container starts the job")
        return outcome

    def _tell_end(self, outcome: Outcome) -> None:
        level = logger.info if outcome.code == 0 else logger.error
        level("exit %s: %s; idle again", outcome.code, outcome.message)
        self._control.happened(Event.ENDED, outcome)

    async def _attempts(self) -> Outcome:
        """Try until an attempt counts; the one that does still holds its leases."""
        settings, agent, control = self._settings, self._agent, self._control
        terms = Terms(launch_retries=settings.launch_retries, max_restarts=settings.max_restarts)
        kind = Kind.FIRST
        while True:
            purpose = Purpose(resuming=control.mode is Mode.RESUMING)
            self._view.begin(kind)
            outcome = await self._new_attempt(purpose).run()
            self._view.end(outcome)
            self._ran = self._ran or outcome.ran
            if control.mode is Mode.PAUSING:
                if agent.stopped.is_set():
                    return self._stopped_while("being paused")
                if not await self._pause(outcome):
                    return self._stopped_while("paused")
                kind = Kind.RESUME
                continue
            then = retry.after(outcome, self._tally, terms, stopped=agent.stopped.is_set())
            if then.kind is None:
                return outcome
            logger.warning("exit %s: %s; %s", outcome.code, outcome.message, then.reason)
            control.happened(Event.AGAIN)
            if then.kind is Kind.RESTART:
                self._go_on_with(())
            self._tally, kind = then.tally, then.kind
            await self._keep(outcome)
            await came(agent.stopped, then.pause_s)
            if agent.stopped.is_set():
                return self._stopped_while("waiting to try again")
            await self._let_go(final=False)

    def _stopped_while(self, stage: str) -> Outcome:
        """Return the outcome of a stop between attempts: ranks may have run before it."""
        return replace(self._agent.stopped_while(stage), ran=self._ran)

    def _new_attempt(self, purpose: Purpose) -> Attempt:
        self._number += not purpose.rehearsal
        self._agent.job_env[ATTEMPT] = str(max(1, self._number))
        made = Attempt(
            self._agent, self._view, self._claimant, self._tell_own_rank, purpose,
            find=lambda source: finding.finder(source, self._agent, self._reception),
        )  # fmt: skip
        self._attempt = made
        return made

    async def _keep(self, outcome: Outcome) -> None:
        """Tell workers that the attempt is over; who is stopped meanwhile can still release them."""
        if self._attempt is not None:
            await self._attempt.keep(Over(code=outcome.code, final=False, ran=outcome.ran))

    async def _let_go(self, *, final: bool) -> None:
        """End the leases of the attempt that is over; another one makes its own."""
        if self._attempt is not None:
            await self._attempt.release(Over(code=0, final=final, ran=self._ran))
            self._attempt = None

    def _order_pause(self) -> None:
        if self._attempt is not None:
            self._attempt.halting.give(Halt(cause=Cause.PAUSED))

    async def _pause(self, outcome: Outcome) -> bool:
        """Rest until the job is resumed; tell whether it is, or the launcher has to end."""
        asked = self._control.asked
        released = asked is not None and asked.release
        self._deadline.hold()
        if released:
            await self._let_go(final=True)
        else:
            await self._keep(outcome)
        self._control.happened(Event.ENDED)
        kept = "the workers have been released" if released else "the workers are kept"
        logger.info("%s; %s; `mpiboot resume` goes on", outcome.message, kept)
        asked = await self._control.rest(Stage.PAUSED)
        if asked is None:
            return False
        self._deadline.go()
        self._go_on_with(asked.command)
        await self._let_go(final=False)
        return True

    def _go_on_with(self, given: Sequence[str]) -> None:
        """Choose the command of the next attempt."""
        again = modes.words_of(self._settings.resume_command, "--resume-command")
        self._view.command = modes.command_again(given, again, self._view.command)

    async def _pulse(self) -> None:
        """Keep all leases alive, and find those that are lost; a part of them at a time."""
        settings = self._settings
        while True:
            parts = max(1, len(self._attempt.leases) // _BEATS) if self._attempt else 1
            for part in range(parts):
                await asyncio.sleep(settings.heartbeat_s / parts)
                for lease in self._attempt.leases[part::parts] if self._attempt else ():
                    lease.send(Message(kind=messages.BEAT, body=messages.stamped({})))
                    lease.check(settings.lease_timeout_s)
            self._agent.report()

    def _tell_own_rank(self, message: Message) -> None:
        if message.kind == messages.SIGNAL:
            warned = ranksignals.obey(self._own_link, message)
            if warned is not None:
                self._hear_own_rank(messages.warned_message(warned))
        elif message.kind in (messages.LOOK, messages.STACKS):
            answer = stalling.answer(self._own_link, self._agent, message, self._hear_own_rank)
            self._answers.append(asyncio.ensure_future(answer))
        else:
            self._own_link.tell_rank(message)

    def _hear_own_rank(self, message: Message) -> None:
        if self._attempt is not None:
            self._attempt.hear_own(self._oom.mark(message))
