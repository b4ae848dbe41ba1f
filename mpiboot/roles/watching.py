"""Run mpirun and watch it: its output, its end, the leases, the order to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from mpiboot.errors import ConfigError
from mpiboot.link import messages
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.plan.launch import LaunchPlan
from mpiboot.plan.verdict import Evidence, Lost
from mpiboot.roles.agent import Agent
from mpiboot.runtime.children import PIPE, Child
from mpiboot.runtime.ladder import Ladder
from mpiboot.runtime.streams import Copier

# mpirun names the daemon it lost within this time; then it is taken down.
_OWN_WORDS_S = 3.0
_TAKE_DOWN_S = 12.0
# Output that is still in the pipe when mpirun has ended; a left-over process may hold it open.
_LAST_OUTPUT_S = 2.0


class Watch:
    """One execution of mpirun."""

    def __init__(self, agent: Agent, leases: Mapping[str, Lease], workers: int) -> None:
        self._agent = agent
        self._leases = dict(leases)
        self._workers = workers
        self._lost: list[Lost] = []
        self._lost_one = asyncio.Event()
        self._copiers: list[Copier] = []
        self._log: IO[bytes] | None = None

    async def run(self, plan: LaunchPlan) -> Evidence:
        """Start mpirun as planned and return what was seen of it."""
        child = self._spawn(plan)
        self._agent.target = child
        for name, lease in self._leases.items():
            self._follow(name, lease)
        await self._until_ended(child)
        self._agent.target = None
        stop = self._agent.stop_signal
        lost = tuple(self._lost)
        await self._finish_output()
        return Evidence(
            code=child.ended.result(),
            stop_signal=stop,
            stderr=self._copiers[0].tail.text,
            lost=lost,
            leased=sum(not lease.plain for lease in self._leases.values()),
            workers=self._workers,
            program_exists=Path(plan.program).exists(),
        )

    def _spawn(self, plan: LaunchPlan) -> Child:
        self._log = self._open_log()
        child = self._agent.children.spawn(
            plan.argv,
            name="mpirun",
            env=plan.environ,
            stdin=None,
            stdout=PIPE if self._log is not None else None,
            stderr=PIPE,
        )
        for pipe, target in ((child.popen.stderr, 2), (child.popen.stdout, 1)):
            if pipe is not None:
                copier = Copier(pipe, target, self._log)
                copier.start()
                self._copiers.append(copier)
        return child

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
        """Wait for mpirun's end, or bring it about when stopped or when a worker is lost."""
        agent = self._agent
        stop = asyncio.ensure_future(agent.stopped.wait())
        lost = asyncio.ensure_future(self._lost_one.wait())
        await _first({child.ended, stop, lost})
        if child.running and not stop.done():
            logger.error("%s was lost: %s; stopping the job", self._lost[0].host, self._lost[0].why)
            await _first({child.ended, stop}, _OWN_WORDS_S)
            if not child.ended.done() and not stop.done():
                await Ladder(_TAKE_DOWN_S).stop(child)
        if child.running:
            await agent.ladder.stop(child, agent.stop_signal or signal.SIGTERM)
        stop.cancel()
        lost.cancel()

    def _follow(self, name: str, lease: Lease) -> None:
        def gone(why: str) -> None:
            self._lost.append(Lost(host=name, why=why))
            self._lost_one.set()

        lease.attach(lambda _message: None, gone)
        lease.send(Message(kind=messages.PHASE, body={"stage": "running"}))

    async def _finish_output(self) -> None:
        loop = asyncio.get_running_loop()
        ends = [loop.run_in_executor(None, one.join, _LAST_OUTPUT_S) for one in self._copiers]
        await asyncio.gather(*ends)
        if self._log is not None:
            self._log.close()


async def _first(futures: set[asyncio.Future[Any]], timeout_s: float | None = None) -> None:
    await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
