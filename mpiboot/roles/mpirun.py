"""One execution of mpirun with its output: spawned, copied, framed, finished."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from mpiboot.errors import ConfigError
from mpiboot.log import logger
from mpiboot.model import rankset
from mpiboot.model.outcome import Stage
from mpiboot.plan.launchplan import LaunchPlan
from mpiboot.plan.rankrules import ATTEMPT
from mpiboot.report.kept import Written
from mpiboot.report.output import Output, Own
from mpiboot.report.rankfiles import RankFiles
from mpiboot.report.shown import Look, Shown
from mpiboot.roles.agent import Agent
from mpiboot.runtime import rlimits
from mpiboot.runtime.children import DEVNULL, PIPE, Child
from mpiboot.runtime.streams import Copier, Sieve

# Output that is still in the pipe when mpirun has ended; a left-over process may hold it open.
_LAST_OUTPUT_S = 2.0


class Mpirun:
    """mpirun as a child of ours.

    Args:
        agent: the agent at work.
        plan: how it is called.
        on_shown: is told, in a thread, of which rank how many pieces of framed output have come.
    """

    def __init__(
        self, agent: Agent, plan: LaunchPlan, on_shown: Callable[[int, int], None]
    ) -> None:
        self._agent = agent
        self._plan = plan
        self._on_shown = on_shown
        self._log = self._open_log()
        self._feeder = self._feed()
        self._copiers: list[Copier] = []
        self.child = self._spawn()

    @property
    def stderr(self) -> str:
        """The end of what it has written to stderr."""
        return self._copiers[0].tail.text

    @property
    def heard_at(self) -> float:
        """When it last wrote anything, on the loop's clock."""
        return max(one.heard_at for one in self._copiers)

    async def finish(self) -> None:
        """Take in the last of its output; it has ended."""
        if self._feeder is not None:
            self._feeder.signal(signal.SIGTERM)
        loop = asyncio.get_running_loop()
        ends = [loop.run_in_executor(None, one.join, _LAST_OUTPUT_S) for one in self._copiers]
        await asyncio.gather(*ends)
        if self._log is not None:
            self._log.close()

    def _spawn(self) -> Child:
        plan = self._plan
        sieves = self._sieves()
        child = self._agent.children.spawn(
            plan.argv,
            name="mpirun",
            env=plan.environ,
            stdin=None if self._feeder is None else DEVNULL,
            stdout=PIPE if self._reads_stdout else None,
            stderr=PIPE,
            ignore_sigpipe=plan.ignore_sigpipe,
        )
        if plan.open_files is not None:
            rlimits.soften(rlimits.NOFILE, plan.open_files, child.pid)
        for pipe, target in ((child.popen.stderr, 2), (child.popen.stdout, 1)):
            if pipe is not None:
                copier = Copier(
                    pipe, target, self._log, sieves.get(target),
                    self._agent.recent if target == 2 else None,
                )  # fmt: skip
                copier.start()
                self._copiers.append(copier)
        return child

    @property
    def _reads_stdout(self) -> bool:
        """Tell whether we have to see its stdout: to keep it, or to know that there is any."""
        settings = self._agent.settings
        wanted = self._log is not None or self._plan.pipe_stdout
        return wanted or settings.stall_timeout_s > 0 or settings.output_format == "json"

    def _feed(self) -> Child | None:
        """Bring rank 0 its stdin where this MPI loses it on the way."""
        wrapper = self._plan.wrapper
        if wrapper is None or not wrapper.feeds:
            return None
        argv = wrapper.feeder(f"{self._agent.directory}/ssh_config")
        return self._agent.children.spawn(
            argv, env=self._plan.environ, stdin=None, stdout=DEVNULL, stderr=DEVNULL
        )

    def _sieves(self) -> dict[int, Sieve]:
        """Make what takes output apart, where it is framed or becomes entries."""
        wrapper, settings = self._plan.wrapper, self._agent.settings
        nonce = wrapper.nonce if wrapper is not None else ""
        if not nonce and settings.output_format != "json":
            return {}
        look = Look(
            tag=settings.tag_output,
            stamp=settings.timestamp_output,
            json=settings.output_format == "json",
            ranks=rankset.read(settings.show_ranks),
            attempt=int(self._agent.job_env.get(ATTEMPT, "1")),
        )
        files = self._files() if nonce else None
        shown = Shown(look, self._log, self._agent.recent)
        err = Output(nonce, shown, files, self._on_shown) if nonce else Own(shown, "e")
        return {2: err, 1: Own(shown, "o")}

    def _files(self) -> RankFiles | None:
        """Make the files of the ranks' output."""
        settings = self._agent.settings
        if not settings.output_dir:
            return None
        runs = sum(step.stage is Stage.RUNNING for step in self._agent.timeline.steps)
        return RankFiles(
            settings.output_dir,
            most_mb=settings.output_max_mb,
            keep=settings.output_keep,
            append=runs > 1,
            complain=_complain,
        )

    def _open_log(self) -> Written | None:
        """Open what gets a copy of the output: the log file, the record's ring, or both."""
        path, kept = self._agent.settings.log_file, self._agent.reporting.kept
        if not path and kept is None:
            return None
        try:
            file = Path(path).open("ab", buffering=0) if path else None  # noqa: SIM115 - closed with the copy
            return Written(file, kept, lambda fault: _complain(Path(path), fault))
        except OSError as fault:
            raise ConfigError(
                f"cannot write the log file {path}: {fault.strerror}", hint="check --log-file"
            ) from fault


def _complain(path: Path, fault: OSError) -> None:
    logger.warning(
        "cannot write %s: %s; this file, and others that cannot be written, lack some of the output",
        path, (fault.strerror or "fault").lower(),
    )  # fmt: skip
