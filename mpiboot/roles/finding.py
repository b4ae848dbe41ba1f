"""Find hosts that are not known from the start: by a name, by a program, by what nodes announce."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import Protocol

from mpiboot.errors import ConfigError, MpibootError
from mpiboot.model import announced, hosts
from mpiboot.model.announced import Announced
from mpiboot.model.counting import counted
from mpiboot.model.hosts import Enumerated, Host, Listed, Scripted, Source
from mpiboot.model.record import dataclass
from mpiboot.plan import announcing
from mpiboot.plan.gather import Reach
from mpiboot.roles.agent import Agent
from mpiboot.roles.attempts import NAME_PAUSE_S, jittered
from mpiboot.roles.naming import Naming
from mpiboot.roles.reception import Reception
from mpiboot.runtime import resolve
from mpiboot.runtime.resolve import NoNameError
from mpiboot.runtime.within import came

_TOLD_PAUSE_S = 5.0  # a new announcement cuts it short


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one look has brought.

    Attributes:
        hosts: all that are known, in the job's order.
        answer: what the wait shows of it.
        fault: kind of what went wrong, for the metrics: nothing new is known; empty: nothing did.
    """

    hosts: tuple[Host, ...] = ()
    answer: str = ""
    fault: str = ""


class Finder(Protocol):
    """One way to find hosts."""

    @property
    def name(self) -> str:
        """What it asks; no host is called like that."""

    @property
    def count(self) -> int | None:
        """How many hosts to expect; None: as many as stay the same for a while."""

    async def look(self) -> Found:
        """Look once.

        Raises:
            MpibootError: no further look will do better.
        """

    async def pause(self, least_s: float) -> None:
        """Wait until another look is worth it, for `least_s` at least."""


def finder(source: Source, agent: Agent, reception: Reception) -> Listed | Finder:
    """Choose who finds the hosts of a source; a list needs nobody."""
    match source:
        case Listed():
            return source
        case Enumerated():
            return _ByName(source, agent.settings.attempt_timeout_s)
        case Scripted():
            return _ByScript(source, agent)
        case Announced():
            return _ByAnnouncement(reception)


class _Slower:
    """Pauses that grow."""

    def __init__(self) -> None:
        self._pause_s = NAME_PAUSE_S[0]

    async def pause(self, least_s: float) -> None:
        self._pause_s = min(self._pause_s * 1.5, NAME_PAUSE_S[1])
        await asyncio.sleep(max(least_s, jittered(self._pause_s)))


class _ByName(_Slower):
    """The addresses of a DNS name, in the order of their numbers."""

    def __init__(self, named: Enumerated, timeout_s: float) -> None:
        super().__init__()
        self.name, self.count = f"dns:{named.name}", named.count
        self._asked = named.name
        self._naming = Naming(timeout_s)

    async def look(self) -> Found:
        try:
            found = await self._naming.enumerate(self._asked)
        except NoNameError as fault:
            # A resolver that stumbles must not cost us those who are ready.
            return Found(answer=f"{self._asked}: {Reach.NO_NAME.value} ({fault})", fault="no_name")
        return Found(
            hosts=tuple(Host(name=address) for address in resolve.ordered(found)),
            answer=f"{self._asked} has {counted(len(found), 'address', 'addresses')}",
        )


class _ByScript(_Slower):
    """The hosts that a program prints, in its order."""

    def __init__(self, scripted: Scripted, agent: Agent) -> None:
        super().__init__()
        self.name, self.count = "--host-script", scripted.count
        self._argv = scripted.command
        self._what = f"--host-script {shlex.join(scripted.command)[:200]}"
        self._agent = agent

    async def look(self) -> Found:
        agent, limit_s = self._agent, self._agent.settings.attempt_timeout_s
        try:
            done = await agent.children.run(self._argv, timeout_s=limit_s, env=agent.job_env)
        except MpibootError as fault:
            raise ConfigError(f"{self._what}: {fault}") from fault
        said = done.stdout.decode(errors="replace")
        if done.code:
            last = done.text.splitlines()[-1][:200] if done.text else "it said nothing"
            ended = f"{self._what} ended with {done.code} ({limit_s:g} s at most): {last}"
            return Found(answer=ended, fault="host_script")
        if not said.strip():
            return Found(answer=f"{self._what} names no host yet")
        listed = hosts.parse_hostfile(said, self._what)
        return Found(
            hosts=listed.hosts, answer=f"{self._what} names {counted(len(listed.hosts), 'host')}"
        )


class _ByAnnouncement:
    """The nodes that have announced themselves, in the order of their numbers."""

    name = announced.PREFIX

    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self.count: int | None = reception.board.source.count

    async def look(self) -> Found:
        reception = self._reception
        reception.changed.clear()
        known = announcing.hosts(reception.board, os.uname().nodename)
        return Found(hosts=known, answer=reception.trouble or announcing.missing(reception.board))

    async def pause(self, least_s: float) -> None:
        await asyncio.sleep(least_s)
        await came(self._reception.changed, _TOLD_PAUSE_S)
