"""Those in a worker's container who want to see the job: the launcher knows it, and is asked for them."""

from __future__ import annotations

import asyncio
import json
import os

from mpiboot import log
from mpiboot.link import viewing
from mpiboot.link.messages import Message
from mpiboot.link.server import Lease, LinkServer
from mpiboot.plan.metering import Meter
from mpiboot.report.timeline import wall_clock
from mpiboot.report.view import View, Worker
from mpiboot.roles import farewell
from mpiboot.roles.agent import Agent
from mpiboot.roles.lookers import Lookers
from mpiboot.roles.metering import Metering

_MOST = 16  # who wait at the same time
_ANSWER_S = 5.0


class Onlookers:
    """Asks the launcher on behalf of those in this container, one question for all of them.

    Args:
        agent: the agent at work.
        link: the leases.
        metering: what is used here.
    """

    def __init__(self, agent: Agent, link: LinkServer, metering: Metering) -> None:
        self._agent = agent
        self._link = link
        self._metering = metering
        self._meter = Meter()
        self._assembly = viewing.Assembly()
        self._last = viewing.Assembly()
        self._end = ""
        self._ended_by: Lease | None = None
        self._waiting: list[Lease] = []
        self._lookers: Lookers[Lease] = Lookers()
        self._asked: Lease | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._own: asyncio.Task[None] | None = None

    def hear(self, client: Lease, _message: Message) -> None:
        """Take in somebody who wants to see the job."""
        self._waiting = [*self._waiting, client][-_MOST:]
        self._lookers.asked(client)
        if self._ended_by is not None and self._link.leases <= {self._ended_by}:
            self._tell(self._end)
            return
        if self._asked in self._link.leases or (self._own is not None and not self._own.done()):
            return  # an answer is on its way
        self._asked = next(iter(self._link.leases), None)
        if self._asked is None:
            self._tell_own()
            return
        self._assembly = viewing.Assembly()
        self._asked.send(viewing.ask(0))
        self._timer = asyncio.get_running_loop().call_later(_ANSWER_S, self._tell_own)

    def answered(self, lease: Lease, message: Message) -> None:
        """Take in a part of a launcher's answer, and ask for the next one."""
        if viewing.is_last(message):
            self._hear_end(lease, message)
            return
        if lease is not self._asked:
            return  # it comes too late
        text = self._assembly.take(message)
        if text is not None:
            self._tell(text)
        elif self._assembly.size:
            lease.send(viewing.ask(self._assembly.size))

    def _hear_end(self, lease: Lease, message: Message) -> None:
        """Take in what a launcher tells unasked: how the job ends, for all who look on."""
        text = self._last.take(message)
        if text is not None:
            self._end, self._ended_by = text, lease
            self._waiting = self._lookers.still()
            self._tell(text)

    async def part(self) -> None:
        """Let those who look on read what they were told last: everything here is ended soon."""
        await farewell.take([one.pid for one in self._lookers.still()])

    def _tell(self, text: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._asked = self._timer = None
        waiting, self._waiting = self._waiting, []
        for client in waiting:
            viewing.tell(client, text)

    def _tell_own(self) -> None:
        """Tell what this worker knows by itself: no launcher holds it, or it does not answer."""
        self._asked = None
        self._own = asyncio.ensure_future(self._describe_own())

    async def _describe_own(self) -> None:
        self._meter.take(await self._metering.read())
        agent = self._agent
        outcome = agent.reporting.outcome
        status = agent.reporting.foreseen(outcome)
        task = agent.tasks()[0]
        view = View(
            at=wall_clock(),
            sender=os.uname().nodename,
            complete=False,
            status=status,
            seconds={stage.value: s for stage, s in agent.timeline.seconds().items()},
            workers=[Worker(task=task, seen=None, reading=self._meter.reading)],
            log=log.recent(),
        )
        self._tell(json.dumps(view.to_json()))
