"""Run mpirun and watch it: its output, its end, the leases, the order to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from mpiboot.errors import ConfigError
from mpiboot.link import messages
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.plan import ranks
from mpiboot.plan.launch import LaunchPlan
from mpiboot.plan.layout import Layout
from mpiboot.plan.verdict import Evidence, Lost
from mpiboot.report.output import Output
from mpiboot.roles.agent import Agent
from mpiboot.roles.calling import Calls
from mpiboot.runtime.children import DEVNULL, PIPE, Child
from mpiboot.runtime.ladder import Ladder
from mpiboot.runtime.streams import Copier
from mpiboot.runtime.within import within

# mpirun names the daemon it lost within this time; then it is taken down.
_OWN_WORDS_S = 3.0
_TAKE_DOWN_S = 12.0
# Output that is still in the pipe when mpirun has ended; a left-over process may hold it open.
_LAST_OUTPUT_S = 2.0
# Open MPI 5 now and then stays for ever after its last rank; others are gone in a tenth of a second.
_LINGER_S = 5.0
# Reports of ranks take another way than mpirun's status, and may arrive later.
_LAST_REPORTS_S = 1.0


class Watch:
    """One execution of mpirun.

    Args:
        agent: the agent at work.
        leases: of those who take part, by the user's names for them.
        arranged: who runs what.
        plan: how mpirun is called.
        tell_own: sends a message to the ranks of this very container.
    """

    def __init__(
        self,
        agent: Agent,
        leases: Mapping[str, Lease],
        arranged: Layout,
        plan: LaunchPlan,
        tell_own: Callable[[Message], None],
    ) -> None:
        self._agent = agent
        self._loop = asyncio.get_running_loop()
        self._leases = dict(leases)
        self._arranged = arranged
        self._plan = plan
        self._tell_own = tell_own
        self._terms = ranks.Terms(start_s=agent.settings.start_timeout_s, linger_s=_LINGER_S)
        self._lost: list[Lost] = []
        self._news = asyncio.Event()
        self._copiers: list[Copier] = []
        self._log: IO[bytes] | None = None
        self._feeder: Child | None = None
        self._begun = 0.0
        self._too_late = False
        self._calls = Calls()
        self._unreachable: dict[str, str] = {}
        self._lingers = False
        self.book = ranks.Book(arranged.np if plan.wrapper is not None and not plan.own else 0)

    def hear(self, host: str, message: Message) -> None:
        """Take what a host says: reports of ranks, and answers to our calls."""
        if message.kind == messages.CALL:
            self._calls.hear(host, message)
        if message.kind == messages.RANK:
            wall = time.time()  # noqa: TID251 - to compare with what another machine's clock says
            if self.book.hear(host, message.body, self._loop.time(), wall):
                self._news.set()

    async def run(self) -> Evidence:
        """Start mpirun as planned and return what was seen of it."""
        child = self._spawn()
        self._begun = self._loop.time()
        self._agent.target = child
        for name, lease in self._leases.items():
            self._follow(name, lease)
        await self._until_ended(child)
        self._agent.target = None
        if self._feeder is not None:
            self._feeder.signal(signal.SIGTERM)
        stop = self._agent.stop_signal
        lost = tuple(self._lost)
        await self._finish_output()
        evidence = self._evidence(child.ended.result(), stop, lost)
        deadline = self._loop.time() + _LAST_REPORTS_S
        while not stop and not lost and self._reports_are_due(evidence):
            if self._loop.time() >= deadline:
                break
            self._news.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await within(deadline - self._loop.time(), self._news.wait())
            evidence = self._evidence(child.ended.result(), stop, lost)
        return evidence

    def _evidence(self, code: int, stop: int | None, lost: tuple[Lost, ...]) -> Evidence:
        slots = {place.name: place.slots for place in self._arranged.places}
        map_by = self._agent.settings.map_by
        return Evidence(
            code=code,
            stop_signal=stop,
            stderr=self._copiers[0].tail.text,
            lost=lost,
            leased=sum(not lease.plain for lease in self._leases.values()),
            workers=len(self._arranged.places),
            program_exists=Path(self._plan.program).exists(),
            ranks=self.book.ranks(),
            expected=ranks.expected(slots, self._arranged.np, map_by),
            start_s=self._terms.start_s if self._too_late else None,
            unreachable=self._unreachable,
            lingered=self._lingers,
        )

    def _reports_are_due(self, evidence: Evidence) -> bool:
        """Tell whether a report that decides the verdict may still be on its way."""
        seen = evidence.ranks
        if not seen.np:
            return False
        if evidence.code == 0:
            return bool(evidence.missing)
        return len(seen.ends) < max(1, len(seen.started))

    def _spawn(self) -> Child:
        plan = self._plan
        self._log = self._open_log()
        output = self._output()
        self._feeder = self._feed()
        child = self._agent.children.spawn(
            plan.argv,
            name="mpirun",
            env=plan.environ,
            stdin=None if self._feeder is None else DEVNULL,
            stdout=PIPE if self._log is not None or plan.pipe_stdout else None,
            stderr=PIPE,
            ignore_sigpipe=plan.ignore_sigpipe,
        )
        for pipe, target in ((child.popen.stderr, 2), (child.popen.stdout, 1)):
            if pipe is not None:
                copier = Copier(pipe, target, self._log, output if target == 2 else None)
                copier.start()
                self._copiers.append(copier)
        return child

    def _feed(self) -> Child | None:
        """Bring rank 0 its stdin where this MPI loses it on the way."""
        wrapper = self._plan.wrapper
        if wrapper is None or not wrapper.feeds:
            return None
        argv = wrapper.feeder(f"{self._agent.directory}/ssh_config")
        return self._agent.children.spawn(
            argv, env=self._plan.environ, stdin=None, stdout=DEVNULL, stderr=DEVNULL
        )

    def _output(self) -> Output | None:
        """Make what takes framed output apart, where it is framed."""
        wrapper, settings = self._plan.wrapper, self._agent.settings
        if wrapper is None or not wrapper.nonce:
            return None
        return Output(
            wrapper.nonce,
            tag=settings.tag_output,
            stamp=settings.timestamp_output,
            directory=settings.output_dir,
            log=self._log,
            on_mark=self._rank_is_shown,
        )

    def _rank_is_shown(self, rank: int, count: int) -> None:
        self._loop.call_soon_threadsafe(self._shown, rank, count)

    def _shown(self, rank: int, count: int) -> None:
        """Tell a rank's wrapper how much has come; where it is, not all of us know."""
        host = self.book.ranks().started.get(rank)
        message = messages.rank_message({"rank": rank, "event": "shown", "count": count})
        for lease in [self._leases[host]] if host in self._leases else self._leases.values():
            lease.send(message)
        self._tell_own(message)

    def _open_log(self) -> IO[bytes] | None:
        path = self._agent.settings.log_file
        if not path:
            return None
        try:
            return Path(path).open("ab", buffering=0)
        except OSError as fault:
            raise ConfigError(
                f"cannot write the log file {path}: {fault.strerror}", hint="check --log-file"
            ) from fault

    async def _until_ended(self, child: Child) -> None:
        """Wait for mpirun's end, or bring it about: when stopped, when a worker is lost, in time."""
        agent = self._agent
        stop = asyncio.ensure_future(agent.stopped.wait())
        while not child.ended.done() and not stop.done():
            self._news.clear()
            if self._lost:
                await self._take_down_for_lost(child, stop)
                break
            advice = ranks.advise(
                self.book, self._terms, begun=self._begun,
                quiet_since=max(one.heard_at for one in self._copiers), now=self._loop.time(),
            )  # fmt: skip
            self._too_late, self._lingers = advice.too_late, advice.lingers
            if advice.too_late or advice.lingers:
                await self._take_down_in_time(child)
                break
            news = asyncio.ensure_future(self._news.wait())
            patience = None if advice.until is None else advice.until - self._loop.time()
            await _first({child.ended, stop, news}, patience)
            news.cancel()
        if child.running:
            await agent.ladder.stop(child, agent.stop_signal or signal.SIGTERM)
        stop.cancel()

    async def _take_down_for_lost(self, child: Child, stop: asyncio.Future[Any]) -> None:
        logger.error("%s was lost: %s; stopping the job", self._lost[0].host, self._lost[0].why)
        await _first({child.ended, stop}, _OWN_WORDS_S)
        if not child.ended.done() and not stop.done():
            await Ladder(_TAKE_DOWN_S).stop(child)

    async def _take_down_in_time(self, child: Child) -> None:
        if self._lingers:
            logger.warning("all ranks have ended, and mpirun has not: stopping it")
        else:
            logger.error("not all ranks have started in %g s: stopping mpirun", self._terms.start_s)
            self._unreachable = await self._calls.unreachable(self._leases)
        await Ladder(_TAKE_DOWN_S).stop(child)

    def _follow(self, name: str, lease: Lease) -> None:
        def gone(why: str) -> None:
            self._lost.append(Lost(host=name, why=why))
            self._news.set()

        lease.attach(lambda message: self.hear(name, message), gone)
        lease.send(Message(kind=messages.PHASE, body={"stage": "running"}))

    async def _finish_output(self) -> None:
        loop = asyncio.get_running_loop()
        ends = [loop.run_in_executor(None, one.join, _LAST_OUTPUT_S) for one in self._copiers]
        await asyncio.gather(*ends)
        if self._log is not None:
            self._log.close()


async def _first(futures: set[asyncio.Future[Any]], timeout_s: float | None = None) -> None:
    await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
