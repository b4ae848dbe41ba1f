"""What people in the launcher's container ask of it, and what it tells them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mpiboot.link import control
from mpiboot.link.control import Answer
from mpiboot.link.messages import Message
from mpiboot.link.server import Lease
from mpiboot.log import logger
from mpiboot.model.outcome import Outcome, Stage
from mpiboot.plan import modes
from mpiboot.plan.modes import Asked, Event, Mode, Refused, Verb
from mpiboot.roles import farewell
from mpiboot.roles.agent import Agent

_ACCEPTED = {
    Verb.RUN: "the job is being started",
    Verb.PAUSE: "the job is being paused",
    Verb.RESUME: "the job is being resumed",
}


class Control:
    """The launcher's mode, and those who wait for it to change.

    Attributes:
        mode: what the launcher is doing.
        asked: what was accepted last; None so far.

    Args:
        agent: the agent at work.
        pause: orders the end of the attempt that runs.
    """

    def __init__(self, agent: Agent, pause: Callable[[], None]) -> None:
        self._agent = agent
        self._pause = pause
        self._debug = agent.settings.debug
        self._news = asyncio.Event()
        self._waiting: list[tuple[Verb, Lease]] = []
        self._told: set[int] = set()
        self.mode = Mode.PREPARING if self._debug else Mode.WAITING
        self.asked: Asked | None = None

    def hear(self, client: Lease, message: Message) -> None:
        """Accept or refuse what is asked, and act on it."""
        asked = control.read_asked(message)
        if asked is None:
            said = Answer(state=control.REFUSED, text="the launcher does not understand that")
            control.answer(client, said)
            return
        heard = self._decide(asked)
        if isinstance(heard, Refused):
            logger.info("asked to %s: refused: %s", asked.verb.value, heard.reason)
            control.answer(client, Answer(state=control.REFUSED, text=heard.reason))
            return
        logger.info("asked to %s: %s", asked.verb.value, _ACCEPTED[asked.verb])
        self.mode, self.asked = heard, asked
        self._waiting.append((asked.verb, client))
        control.answer(client, Answer(state=control.ACCEPTED, text=_ACCEPTED[asked.verb]))
        if asked.verb is Verb.PAUSE:
            self._pause()
        else:
            self._news.set()

    def _decide(self, asked: Asked) -> Mode | Refused:
        if self._agent.timeline.stage is Stage.RUNNING:
            self.happened(Event.STARTED)
            if asked.verb is Verb.PAUSE and self._agent.target is None:
                # Its verdict is being found: a pause now would run a job again that is over.
                return Refused(reason="mpirun has ended already")
        return modes.hear(self.mode, asked, debug=self._debug)

    async def rest(self, stage: Stage) -> Asked | None:
        """Wait at a stage until somebody asks to go on; return that, or None when stopped."""
        self._news.clear()
        self._agent.enter(stage)
        done = await self._agent.unless_stopped(self._news.wait())
        return self.asked if done else None

    def happened(self, event: Event, outcome: Outcome | None = None) -> None:
        """Take note of what has happened, and tell those who wait for it."""
        self.mode = modes.after(self.mode, event, debug=self._debug)
        if self.mode is Mode.PAUSED:
            self._tell((Verb.PAUSE,), Answer(state=control.DONE, text="the job is paused"))
        elif outcome is not None and self.mode in (Mode.IDLE, Mode.ENDING):
            end = f"exit {outcome.code}: {outcome.message}"
            said = Answer(state=control.DONE, text=end, code=outcome.code)
            self._tell((Verb.RUN, Verb.RESUME), said)
            unpaused = Answer(state=control.REFUSED, text=f"the job is over: {end}")
            self._tell((Verb.PAUSE,), unpaused)

    async def part(self) -> None:
        """Let those who have their last answer leave, before everything in this container ends."""
        await farewell.take(self._told)

    def _tell(self, verbs: tuple[Verb, ...], said: Answer) -> None:
        for verb, client in self._waiting:
            if verb in verbs:
                control.answer(client, said)
                self._told.add(client.pid)
        self._waiting = [one for one in self._waiting if one[0] not in verbs]
