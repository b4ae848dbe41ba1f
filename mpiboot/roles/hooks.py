"""Run the hooks of this role: before it starts, and after everything has stopped."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import IO

from mpiboot.errors import CannotRunError, NotFoundError
from mpiboot.log import logger
from mpiboot.model.outcome import Outcome
from mpiboot.model.record import replace
from mpiboot.plan import hooks
from mpiboot.plan.hooks import Choice, End, Entry, Kind, Said
from mpiboot.roles.agent import Agent
from mpiboot.runtime.children import PIPE, Child
from mpiboot.runtime.ladder import Ladder
from mpiboot.runtime.lines import Lines

_LOOK_S = 0.1  # how often a hook that runs is looked at: a TERM shortens its time
_STOP_S = 2.0  # a ladder keeps half of that for KILL
# A process that a hook leaves behind may hold its pipes open for ever.
_LAST_OUTPUT_S = 0.5


async def before(agent: Agent, np: Callable[[], int] = lambda: 0) -> None:
    """Run the hooks before the role starts; from now on those after its end are due.

    What they export becomes part of the environment of the job.

    Args:
        agent: the agent at work.
        np: tells how many ranks the job has; 0 while that is not known.

    Raises:
        ConfigError: a hook failed, was late or cannot be run.
    """

    async def after(outcome: Outcome) -> Outcome:
        return await _after(agent, np(), outcome)

    agent.at_end = after
    run = _Run(agent, Kind.PRE_START, np(), None)
    try:
        end = await run.all()
    finally:
        agent.job_env.update(run.said.variables)
    if run.said.variables:
        logger.info("hooks have set %s", ", ".join(run.said.variables))
    if end is not None:
        raise hooks.fault_of(end, str(run.directory / end.name))


async def _after(agent: Agent, np: int, outcome: Outcome) -> Outcome:
    """Run the hooks after everything has stopped; what fails is told and changes no code."""
    run = _Run(agent, Kind.POST_STOP, np, outcome)
    await run.all()
    for end in run.failed:
        logger.warning("%s", end.text(Kind.POST_STOP))
    told = [end.text(Kind.POST_STOP) for end in run.failed]
    return replace(outcome, evidence=(*outcome.evidence, *told))


class _Run:
    """All hooks of one kind, one after the other, under one deadline."""

    def __init__(self, agent: Agent, kind: Kind, np: int, outcome: Outcome | None) -> None:
        self._agent = agent
        self._kind = kind
        self._np = np
        self._outcome = outcome
        self._clock = asyncio.get_running_loop().time
        self._begun = self._clock()
        self.directory = Path(agent.settings.hooks_dir) / kind.value
        self.said = Said(takes=kind is Kind.PRE_START)
        self.failed: list[End] = []

    async def all(self) -> End | None:
        """Run them; return the first that failed where that ends the row, before the start."""
        choice = _find(self.directory)
        for name in choice.not_executable:
            logger.warning(
                "%s is not executable and is left out; chmod +x it", self.directory / name
            )
        for name in choice.run:
            if self._left_s > 0:
                end = await self._one(name)
            else:
                end = End(name=name, fault="no time is left for it")
            if end.failed:
                self.failed.append(end)
                if self._kind is Kind.PRE_START:
                    return end
        return None

    async def _one(self, name: str) -> End:
        self.said.begin()
        try:
            with self._document() as stdin:
                child = self._agent.children.spawn(
                    [str(self.directory / name)], name=name, env=self._environment(),
                    stdin=stdin, stdout=PIPE, stderr=PIPE,
                )  # fmt: skip
        except NotFoundError:
            return End(name=name, fault="the interpreter that its first line names does not exist")
        except CannotRunError as fault:
            cause = fault.__cause__
            return End(name=name, fault=getattr(cause, "strerror", None) or str(fault))
        out = Lines(child.popen.stdout, lambda line: self._hear(name, line, stdout=True))
        err = Lines(child.popen.stderr, lambda line: self._hear(name, line, stdout=False))
        try:
            late = not await self._ended(child)
        finally:
            if child.running:
                # Where we are cancelled, the sweep at the end of the agent does what is left to do.
                child.signal_group(signal.SIGTERM)
        lasted_s = self._clock() - self._begun
        if late:
            await Ladder(_STOP_S).stop(child)
        await asyncio.wait({out.ended, err.ended}, timeout=_LAST_OUTPUT_S)
        out.close()
        err.close()
        return End(
            name=name,
            code=None if late else child.ended.result(),
            late_s=lasted_s if late else None,
            last=self.said.last,
        )

    async def _ended(self, child: Child) -> bool:
        """Wait for its end; tell whether it came in time."""
        while not child.ended.done():
            left_s = self._left_s
            if left_s <= 0:
                return False
            await asyncio.wait({child.ended}, timeout=min(_LOOK_S, left_s))
        return True

    @property
    def _left_s(self) -> float:
        """Seconds left for all; a stop's own ladder may leave less."""
        own = self._begun + self._agent.settings.hook_timeout_s - self._clock()
        stopping = self._kind is Kind.POST_STOP and self._agent.stop_signal is not None
        return min(own, self._agent.ladder.left_s) if stopping else own

    def _hear(self, name: str, line: bytes, *, stdout: bool) -> None:
        shown = self.said.hear(line, stdout=stdout)
        if shown is not None:
            logger.info("hook %s: %s", name, shown)

    def _environment(self) -> dict[str, str]:
        agent = self._agent
        hostfile = agent.directory / "hostfile"
        told = hooks.variables(
            self._kind, role=agent.role, hostname=os.uname().nodename,
            hostfile=str(hostfile) if hostfile.exists() else "",
            np=self._np, outcome=self._outcome,
        )  # fmt: skip
        return {**agent.job_env, **self.said.variables, **told}

    def _document(self) -> IO[bytes]:
        """Return the status as a file without a name: a hook that reads nothing blocks nobody."""
        document = self._agent.reporting.foreseen(self._outcome)
        file = os.fdopen(os.memfd_create("status"), "w+b")
        file.write(json.dumps(document).encode())
        file.seek(0)
        return file


def _find(directory: Path) -> Choice:
    """Look into a directory of hooks; one that is not there has none."""
    try:
        with os.scandir(directory) as found:
            entries = [
                Entry(name=one.name, file=one.is_file(), executable=os.access(one.path, os.X_OK))
                for one in found
            ]
    except FileNotFoundError:
        entries = []
    except OSError as fault:
        logger.warning("no hooks are run: %s: %s", directory, fault.strerror)
        entries = []
    return hooks.choose(entries)
