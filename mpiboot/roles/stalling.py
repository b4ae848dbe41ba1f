"""Find out that a job hangs, and where: the launcher asks, the agents beside the ranks answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.server import LinkServer
from mpiboot.log import logger
from mpiboot.model.fields import whole
from mpiboot.plan import stall
from mpiboot.plan.evidence import Cause, Halt
from mpiboot.plan.ranks import Book
from mpiboot.plan.stall import Stall
from mpiboot.roles.agent import Agent
from mpiboot.roles.halting import Halting
from mpiboot.runtime import stacks, usage
from mpiboot.runtime.within import came

if TYPE_CHECKING:  # only a launcher has leases of that kind
    from mpiboot.link.client import Lease

_SHOWN = 16  # ranks whose stacks are shown
_LINES = 400  # of one rank
_STACKS_S = 10.0  # for programs that look, on each host
_ANSWERS_S = _STACKS_S + 3.0
_AT_A_TIME = 4


class Stalling:
    """Watches over the progress of a job.

    Args:
        timeout_s: how long it may make none; 0: for ever.
        book: what the ranks report.
        leases: of the workers.
        tell_own: sends a message to the agent of this very container; None: no rank runs here.
    """

    def __init__(
        self,
        timeout_s: float,
        book: Book,
        leases: Mapping[str, Lease],
        tell_own: Callable[[Message], None] | None,
    ) -> None:
        self._timeout_s = timeout_s
        self._book = book
        self._leases = leases
        self._tell_own = tell_own
        self._clock = asyncio.get_running_loop().time
        self._stall = Stall(timeout_s)
        self._chosen: dict[int, str] = {}
        self._stacks: dict[int, str] = {}
        self._answered: set[str] = set()
        self._news = asyncio.Event()

    async def run(self, heard_at: Callable[[], float], halting: Halting) -> None:
        """Look again and again; order the job's end when it hangs.

        Args:
            heard_at: tells when mpirun last wrote anything.
            halting: takes the order.
        """
        if not self._timeout_s:
            return
        if not self._book.np:
            logger.warning("--stall-timeout has no effect: no wrapper tells which ranks run")
            return
        begun = self._clock()
        while True:
            self._answered.clear()
            self._ask(Message(kind=messages.LOOK))
            await asyncio.sleep(stall.pause_s(self._timeout_s))
            now, running = self._clock(), self._running()
            quiet_since = max(begun, heard_at(), self._book.changed_at)
            idle = self._stall.idle(running, quiet_since=quiet_since, now=now)
            if idle:
                detail = stall.words({rank: running[rank] for rank in idle}, now - quiet_since)
                logger.error("%s; these are the stacks of its ranks", detail)
                await self._show(stall.chosen(idle, running, _SHOWN), running)
                halting.give(Halt(cause=Cause.STALLED, detail=detail))
                return

    def hear(self, host: str, message: Message) -> None:
        """Take an answer to a question; only of ranks that run where it comes from."""
        if message.kind == messages.STACKS:
            rank, text = whole(message.body, "rank", 1 << 31), message.body.get("text")
            if rank is not None and self._chosen.get(rank) == host and isinstance(text, str):
                self._stacks.setdefault(rank, text)
                self._news.set()
            return
        if host in self._answered:
            return
        self._answered.add(host)
        here = {rank for rank, place in self._running().items() if place == host}
        cpu_ms = message.body.get("cpu_ms")
        if isinstance(cpu_ms, dict):
            known = {rank: whole(cpu_ms, str(rank), 1 << 53) for rank in here}
            used = {rank: value for rank, value in known.items() if value is not None}
            self._stall.hear(used, self._clock())

    def _running(self) -> dict[int, str]:
        """Map each rank that has started and has not ended to its host."""
        seen = self._book.ranks()
        ended = {end.rank for end in seen.ends}
        return {rank: host for rank, host in seen.started.items() if rank not in ended}

    def _ask(self, message: Message) -> None:
        for lease in self._leases.values():
            lease.send(message)
        if self._tell_own is not None:
            self._tell_own(message)

    async def _show(self, chosen: list[int], running: Mapping[int, str]) -> None:
        """Log where ranks stand, as far as that is told in time."""
        self._chosen = {rank: running[rank] for rank in chosen}
        self._ask(Message(kind=messages.STACKS, body={"ranks": chosen}))
        deadline = self._clock() + _ANSWERS_S
        while {*chosen} - {*self._stacks} and self._clock() < deadline:
            self._news.clear()
            await came(self._news, deadline - self._clock())
        for rank in chosen:
            lines = self._stacks.get(rank, "its agent does not tell").splitlines()
            for line in lines[:_LINES]:
                text = "".join(c if c.isprintable() else " " for c in line)
                logger.error("[rank %s on %s] %s", rank, running[rank], text)


async def answer(
    link: LinkServer, agent: Agent, message: Message, send: Callable[[Message], None]
) -> None:
    """Tell what the launcher asks about the ranks of this container.

    Args:
        link: where the ranks' wrappers are connected.
        agent: the agent at work.
        message: the question.
        send: takes the answers.
    """
    ranks = programs(link)
    if message.kind == messages.STACKS:
        wanted = message.body.get("ranks")
        wanted = [one for one in wanted if isinstance(one, int)] if isinstance(wanted, list) else []
        chosen = {rank: ranks[rank] for rank in wanted[:_SHOWN] if rank in ranks}
        await _tell_stacks(chosen, agent, send)
        return
    used = usage.cpu_ms(ranks.values())
    known = {str(rank): used[pid] for rank, pid in ranks.items() if pid in used}
    send(Message(kind=messages.LOOK, body={"cpu_ms": known}))


def programs(link: LinkServer) -> dict[int, int]:
    """Map each rank here whose program runs to its process."""
    bodies = [one.rank.body for one in link.wrappers if one.rank is not None]
    pairs = [(body.get("rank"), body.get("pid")) for body in bodies]
    return {
        rank: pid
        for rank, pid in pairs
        if isinstance(rank, int) and isinstance(pid, int) and pid > 1
    }


async def _tell_stacks(
    ranks: Mapping[int, int], agent: Agent, send: Callable[[Message], None]
) -> None:
    deadline = asyncio.get_running_loop().time() + _STACKS_S
    turn = asyncio.Semaphore(_AT_A_TIME)

    async def tell(rank: int, pid: int) -> None:
        async with turn:
            text = await stacks.of_tree(pid, agent.children, agent.job_env, deadline)
        text = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
        text = text.encode("ascii", "replace").decode()
        send(Message(kind=messages.STACKS, body={"rank": rank, "text": text}))

    await asyncio.gather(*(tell(rank, pid) for rank, pid in ranks.items()))
