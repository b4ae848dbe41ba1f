"""Show a job to those who look at it: the page, `mpiboot status` here, and that of a worker."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from weakref import WeakKeyDictionary

from mpiboot import log
from mpiboot.link import client, messages, viewing
from mpiboot.link.messages import Message
from mpiboot.link.server import Lease, LinkServer
from mpiboot.model.outcome import Outcome, Stage
from mpiboot.model.spec import WORKER
from mpiboot.model.standing import Task
from mpiboot.plan.gather import Seen
from mpiboot.plan.metering import Meter
from mpiboot.plan.ranks import Ranks
from mpiboot.report import view
from mpiboot.report.timeline import wall_clock
from mpiboot.report.view import View, Worker
from mpiboot.roles import farewell
from mpiboot.roles.agent import Agent
from mpiboot.roles.launcher_view import LauncherView
from mpiboot.roles.lookers import LOOKED_S, Lookers
from mpiboot.roles.metering import Metering
from mpiboot.runtime.within import came

_FIRST, _THEN = 0.5, 2.0  # pauses between two views, from one reading of what is used to the next
_AT_ONCE = 64  # workers that are asked together; then the loop gets its turn
_WORKERS_PER_S = 500  # a view of so many costs a hundredth of a second to make and some to draw
_QUIET_S = 5.0
_TOLD_UNASKED = 512 << 10  # characters: a connection takes them without waiting for its other end


class Viewing:
    """What is shown of a launcher's job.

    Args:
        agent: the agent at work.
        known: what it knows.
        link: where the ranks of this very container are connected.
    """

    def __init__(self, agent: Agent, known: LauncherView, link: LinkServer) -> None:
        self._agent = agent
        self._known = known
        self._clock = asyncio.get_running_loop().time
        self._metering = Metering(agent, link)
        self._own_meter = Meter()
        self._meter_task: asyncio.Task[None] | None = None
        self._looked_at = -LOOKED_S
        self._made_at = -LOOKED_S
        self._text = self._end = ""
        self._fetched: WeakKeyDictionary[client.Lease, str] = WeakKeyDictionary()
        self._lookers: Lookers[Lease] = Lookers()
        self._askers: Lookers[client.Lease] = Lookers()
        self._over = asyncio.Event()
        agent.on_ended = self.close

    def close(self) -> None:
        """Let those who look on see the end."""
        self._over.set()
        self._made_at = -LOOKED_S  # what was made before does not show the end
        if self._meter_task is not None:
            self._meter_task.cancel()

    def hear(self, looker: Lease, _message: Message) -> None:
        """Answer somebody in this container."""
        self._lookers.asked(looker)
        viewing.tell(looker, self.text())

    async def part(self, outcome: Outcome) -> None:
        """Show those who look on in this container how it ends, and let them leave."""
        lookers = self._lookers.still()
        if lookers:
            self._end = self._made(outcome)
            for looker in lookers:
                viewing.tell(looker, self._end)
            await farewell.take([looker.pid for looker in lookers])

    def tell_workers(self, outcome: Outcome) -> None:
        """Show those who look on in workers' containers how it ends."""
        askers = self._askers.still()
        text = self._made(outcome) if askers else ""
        if len(text) <= _TOLD_UNASKED:
            for lease in askers:
                viewing.tell(lease, text, last=True)

    def asked(self, lease: client.Lease, message: Message) -> None:
        """Answer a worker in whose container somebody looks, one part at a time."""
        self._askers.asked(lease)
        at = viewing.asked_at(message)
        text = self._fetched.pop(lease, "") if at else self.text()
        if at < len(text):
            part = viewing.part(text, at)
            if part.body["more"]:
                self._fetched[lease] = text
            lease.send(part)

    async def events(self) -> AsyncIterator[bytes]:
        """Yield server-sent events: a view at once, then whenever there is news, and the end."""
        shown, shown_at = "", 0.0
        while not self._over.is_set():
            text = self.text()
            if text != shown or self._clock() - shown_at >= _QUIET_S:
                yield f"event: view\ndata: {text}\n\n".encode()
                shown, shown_at = text, self._clock()
            await came(self._over, self._pause_s)
        yield f"event: view\ndata: {self.text()}\n\nevent: end\ndata: {{}}\n\n".encode()

    @property
    def _pause_s(self) -> float:
        gathering = self._known.gathering
        return max(1.0, (len(gathering.seen) if gathering is not None else 0) / _WORKERS_PER_S)

    def text(self) -> str:
        """Return the document as JSON in one line; one that was made a moment ago does for all."""
        now = self._clock()
        if self._end and not self._over.is_set():
            return self._end
        self._looked_at = now
        if not self._over.is_set() and (self._meter_task is None or self._meter_task.done()):
            self._meter_task = asyncio.ensure_future(self._meter())
        if now - self._made_at >= self._pause_s / 2:
            self._text = self._made(self._agent.reporting.outcome)
            self._made_at = self._clock()
        return self._text

    def _made(self, outcome: Outcome | None) -> str:
        return json.dumps(self._view(outcome).to_json(), separators=(",", ":"))

    async def _meter(self) -> None:
        """Ask all what they use, as long as somebody looks; soon again at first, for a measure of it."""
        pauses = _FIRST
        while self._clock() - self._looked_at < LOOKED_S:
            if self._known.book is not None:
                self._own_meter.take(await self._metering.read())
            for number, lease in enumerate(self._known.leases(), start=1):
                lease.send(Message(kind=messages.USAGE))
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            await asyncio.sleep(pauses * self._pause_s)
            pauses = _THEN

    def _view(self, outcome: Outcome | None) -> View:
        agent, known, gathering = self._agent, self._known, self._known.gathering
        status = agent.reporting.foreseen(outcome)
        waiting = agent.timeline.stage in (Stage.STARTING, Stage.WAITING)
        return View(
            at=wall_clock(),
            sender=os.uname().nodename,
            complete=True,
            status=status,
            seconds={stage.value: s for stage, s in agent.timeline.seconds().items()},
            waited_s=gathering.waited_s if gathering is not None else None,
            deadline_s=agent.settings.wait_timeout_s if waiting else None,
            workers=self._workers(),
            plan=known.plan,
            stderr=agent.recent.lines(),
            log=log.recent(),
        )

    def _workers(self) -> list[Worker]:
        known = self._known
        if known.gathering is None:
            return []
        states = view.states(known.book.ranks() if known.book is not None else Ranks())
        seen = known.gathering.seen
        tasks = (task for task in known.tasks() if task.role == WORKER)
        return [self._worker(task, seen[task.name], states) for task in tasks]

    def _worker(
        self, task: Task, seen: Seen, states: Mapping[str, Mapping[int, Mapping[str, object]]]
    ) -> Worker:
        gathering, counts = self._known.gathering, self._known.counts
        lease = gathering.leases.get(task.name) if gathering is not None else None
        lost = task.name in counts.lost or task.name in counts.silent
        meter = self._own_meter if seen.here else lease.meter if lease is not None else None
        talks = lease is not None and not lease.plain and not lost
        waited_s = gathering.waited_s if gathering is not None else 0.0
        return Worker(
            task=task,
            seen=seen,
            since_s=self._clock() - counts.lost_at[task.name] if lost else waited_s - seen.since_s,
            lease="lost" if lost else _lease(lease),
            heartbeat_age_s=self._clock() - lease.heard_at if lease is not None and talks else None,
            reading=meter.reading if meter is not None and not lost else None,
            ranks=states.get(task.name, {}),
        )


def _lease(lease: client.Lease | None) -> str:
    if lease is None:
        return "none"
    return "plain" if lease.plain else "held"
