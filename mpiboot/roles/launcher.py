"""The launcher: attempts at the job, one after the other, until one counts."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Sequence

from mpiboot.errors import MpibootError
from mpiboot.link import messages, server
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.model.outcome import Outcome, Stage
from mpiboot.plan import retry, verdict
from mpiboot.plan.rankrules import ATTEMPT
from mpiboot.plan.retry import Kind, Tally, Terms
from mpiboot.roles import launcher_gauges, ranksignals, stalling
from mpiboot.roles.agent import SOCKET, Agent
from mpiboot.roles.attempt import Attempt
from mpiboot.roles.claiming import Claimant
from mpiboot.roles.launcher_view import LauncherView
from mpiboot.roles.oom import Oom
from mpiboot.runtime.within import within

_BEATS = 32  # at once: a beat costs a tenth of a millisecond, and the loop has other work


class Launcher:
    """One launcher run."""

    def __init__(self, agent: Agent, command: Sequence[str]) -> None:
        self._agent = agent
        self._settings = agent.settings
        self._view = LauncherView(command=list(command), timeline=agent.timeline)
        self._claimant = Claimant()
        self._attempt: Attempt | None = None
        self._tally = Tally()
        self._oom = Oom()
        self._answers: deque[asyncio.Future[None]] = deque(maxlen=4)
        self._own_link = server.without_leases(
            lambda what: self._view.not_ready() if what == "ready" else "", self._hear_own_rank
        )
        agent.not_ready = self._view.not_ready
        agent.details = self._view.details
        agent.families = launcher_gauges.of(self._view)
        agent.tasks = self._view.tasks
        agent.silent = self._view.silent
        agent.record = self._view.record

    async def run(self) -> Outcome:
        """Bring one job from its start to its verdict; the workers always hear of it."""
        agent = self._agent
        pulse = asyncio.ensure_future(self._pulse())
        if self._settings.deadline_s:
            asyncio.get_running_loop().call_later(self._settings.deadline_s, agent.expire)
        agent.report()
        try:
            await self._own_link.start(agent.directory / SOCKET)
            outcome = await self._attempts()
        except MpibootError as fault:
            outcome = verdict.of_error(fault)
        finally:
            pulse.cancel()
        self._view.outcome = outcome
        agent.enter(Stage.ENDING)
        if self._attempt is not None:
            final = outcome.code == 0 or self._settings.failure_is_final
            await self._attempt.release(outcome, final=final)
        self._own_link.stop()
        return outcome

    async def _attempts(self) -> Outcome:
        """Try until an attempt counts; the one that does still holds its leases."""
        settings, agent = self._settings, self._agent
        terms = Terms(launch_retries=settings.launch_retries, max_restarts=settings.max_restarts)
        kind = Kind.FIRST
        for number in itertools.count(1):
            agent.job_env[ATTEMPT] = str(number)
            self._view.begin(kind)
            self._attempt = Attempt(agent, self._view, self._claimant, self._tell_own_rank)
            outcome = await self._attempt.run()
            self._view.end(outcome)
            then = retry.after(outcome, self._tally, terms, stopped=agent.stopped.is_set())
            if then.kind is None:
                return outcome
            logger.warning("exit %s: %s; %s", outcome.code, outcome.message, then.reason)
            self._tally, kind = then.tally, then.kind
            await self._attempt.release(outcome, final=False)
            with contextlib.suppress(asyncio.TimeoutError):
                await within(then.pause_s, agent.stopped.wait())
            if agent.stopped.is_set():
                return agent.stopped_while("waiting to try again")
        raise AssertionError  # the count never ends

    async def _pulse(self) -> None:
        """Keep all leases alive, and find those that are lost; a part of them at a time."""
        settings = self._settings
        while True:
            parts = max(1, len(self._attempt.leases) // _BEATS) if self._attempt else 1
            for part in range(parts):
                await asyncio.sleep(settings.heartbeat_s / parts)
                for lease in self._attempt.leases[part::parts] if self._attempt else ():
                    lease.send(Message(kind=messages.BEAT))
                    lease.check(settings.lease_timeout_s)
            self._agent.report()

    def _tell_own_rank(self, message: Message) -> None:
        if message.kind == messages.SIGNAL:
            warned = ranksignals.obey(self._own_link, message)
            if warned is not None:
                self._hear_own_rank(messages.warned_message(warned))
        elif message.kind in (messages.LOOK, messages.STACKS):
            self._answers.append(
                stalling.answer(self._own_link, self._agent, message, self._hear_own_rank)
            )
        else:
            self._own_link.tell_rank(message)

    def _hear_own_rank(self, message: Message) -> None:
        if self._attempt is not None:
            self._attempt.hear_own(self._oom.mark(message))
