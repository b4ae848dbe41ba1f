"""What both roles share: the loop, signals, children, stages, probes, and the way out."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from mpiboot.errors import ConfigError, DeadlineError, ExitCode
from mpiboot.log import logger
from mpiboot.model import shims
from mpiboot.model.options import PARCEL
from mpiboot.model.outcome import Outcome, Stage
from mpiboot.model.settings import Settings
from mpiboot.model.standing import Task
from mpiboot.plan import lastwords, limits, verdict
from mpiboot.report import metrics, status
from mpiboot.report.recent import Recent
from mpiboot.report.timeline import Timeline
from mpiboot.roles import reporting
from mpiboot.roles.reporting import STATUS, Reporting
from mpiboot.runtime import cores, files, headstart, processes, rlimits
from mpiboot.runtime.children import Child, Children
from mpiboot.runtime.http import HttpServer, Reply, Route
from mpiboot.runtime.ladder import Ladder
from mpiboot.runtime.ownership import Ownership
from mpiboot.runtime.signals import SignalPump

SOCKET = "agent.sock"
_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
_STARTED_S = 10.0  # by then all is imported, and garbage is collected again


def job_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the container's environment as the job shall have it.

    The entry script puts variables that would break the agent's own interpreter into a parcel; they
    are unpacked here. The agent's own variables, the secret among them, stay out. What the agent
    starts goes past shims: the agent's part in it is done.
    """
    kept = {name: value for name, value in env.items() if not name.startswith("MPIBOOT_")}
    parcels = {n.removeprefix(PARCEL): v for n, v in env.items() if n.startswith(PARCEL)}
    off = env.get(shims.VARIABLE, "on") == "off"
    return {**kept, **parcels, shims.VARIABLE: "off" if off else shims.INSIDE}


class Agent:
    """One agent at work; made and used inside the loop."""

    def __init__(
        self,
        role: str,
        settings: Settings,
        env: Mapping[str, str],
        origins: Mapping[str, str] | None = None,
    ) -> None:
        self.role = role
        self.settings = settings
        self.env = env
        self.job_env = job_environment(env)
        self.children = Children(cores.withhold())
        for argv, popen in headstart.taken():
            self.children.adopt(argv, popen)
        self.timeline = Timeline()
        self.directory = Path()
        self.stop_signal: int | None = None
        self.overdue = False
        self.stopped = asyncio.Event()
        self.changed = asyncio.Event()
        self.target: Child | None = None
        self.details: Callable[[], dict[str, object]] = dict
        self.not_ready: Callable[[], str] = lambda: "starting"
        self.families: Callable[[], Sequence[metrics.Family]] = tuple
        self.at_end: Callable[[Outcome], Awaitable[Outcome]] = _as_it_is
        self.restarts: Callable[[], int] = lambda: 0
        self.tasks: Callable[[], Sequence[Task]] = lambda: (
            reporting.own_task(role, self.timeline, self._outcome, self.restarts()),
        )
        self.troubled: Callable[[], Sequence[Task]] = self.tasks
        self.silent: Callable[[], bool] = lambda: False
        self.record: Callable[[], dict[str, object]] = dict
        self._outcome: Outcome | None = None
        self.reporting = Reporting(role, settings, origins or {}, self.timeline, self)
        self._owned: Ownership | None = None
        self._ladder: Ladder | None = None
        self._pump = SignalPump(self._signalled, self._child_died)
        self.routes: dict[str, Route] = {
            "/readyz": self._readyz, "/healthz": self._healthz, "/metrics": self._metrics,
        }  # fmt: skip
        self._http = HttpServer(self.routes)
        self.recent = Recent()
        self.on_ended: Callable[[], None] = _nothing

    async def start(self) -> None:
        """Take over signals and open the probe port.

        Raises:
            ConfigError: no private directory, or the port is taken.
        """
        self._pump.start()
        _soften_limits()
        self.reporting.check(os.uname().nodename)
        asyncio.get_running_loop().call_later(_STARTED_S, gc.enable)
        processes.become_subreaper()
        self.directory = files.runtime_dir(self.settings.runtime_dir, self.env, self.role)
        self._owned = Ownership(self.directory)
        self._have_temporary()
        await self._open_probes(self.settings.http_port)

    def _have_temporary(self) -> None:
        """Give MPI's session files a place where there is none, as on a read-only root."""
        place, why_not = files.temporary(self.job_env)
        if why_not:
            made = self.directory / "tmp"
            made.mkdir(mode=0o700, exist_ok=True)
            self.job_env["TMPDIR"] = str(made)
            logger.warning("temporary files go to %s, for %s: %s", made, place, why_not)

    async def _open_probes(self, port: int) -> None:
        """Open the probe port; on a shared network another pod may hold the default one."""
        if not port:
            return
        try:
            await self._http.start(port)
        except ConfigError as fault:
            if port != Settings.http_port:
                raise
            logger.warning("no probes over HTTP: %s", fault)

    @property
    def ladder(self) -> Ladder:
        """The one deadline of the stop; it starts to run when first asked for."""
        if self._ladder is None:
            self._ladder = Ladder(self.settings.stop_grace_s)
        return self._ladder

    def expire(self) -> None:
        """Stop because the deadline of the whole job has passed."""
        if self._outcome is None and not self.stopped.is_set():
            logger.error("the deadline has passed: stopping while %s", self.timeline.stage.value)
            self.overdue = True
            self.stopped.set()
            self.changed.set()

    def stopped_while(self, stage: str) -> Outcome:
        """Return the outcome of a stop, or of the deadline, at a stage before the job ran."""
        if self.overdue:
            return verdict.of_error(DeadlineError(f"the deadline passed while {stage}"))
        return verdict.of_stop(self.stop_signal or signal.SIGTERM, stage)

    def enter(self, stage: Stage) -> None:
        """Begin a stage and tell the status file."""
        self.timeline.enter(stage)
        self.report()

    def report(self) -> None:
        """Write the status file."""
        self.reporting.write()

    @property
    def orphans_reaped(self) -> int:
        """How many orphaned processes were reaped."""
        return self.children.orphans_reaped

    def conclude(self, outcome: Outcome) -> None:
        """Fix the outcome; what comes later cannot change it."""
        if self._outcome is None:
            self._outcome = self.reporting.outcome = outcome
            self.enter(Stage.ENDED)
            status.write_termination(self.settings.termination_log, outcome, self.role)
            self.on_ended()

    async def unless_stopped(self, work: Awaitable[object]) -> bool:
        """Wait for some work or for the order to stop; tell whether the work was done."""
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self.stopped.wait())
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if task.done():
            task.result()
            return True
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # the stop comes first; what went wrong on the way is of no use
        return False

    async def part(self) -> None:
        """Let those who look on see the end."""
        await self._http.part()

    def close(self) -> None:
        """Close the probe port, and wipe the private directory but for the status."""
        self._http.stop()
        if self._owned is not None:
            self._owned.end(keep=(STATUS,))
            self._owned = None

    def _signalled(self, number: int) -> None:
        if number not in _STOPPING:
            if self.target is not None:
                self.target.signal(number)
            return
        name = signal.Signals(number).name
        if self._outcome is not None:
            logger.debug("%s: already ending", name)
        elif self.stop_signal is None and not self.overdue:
            logger.info("%s: stopping while %s", name, self.timeline.stage.value)
            self.stop_signal = number
            self.stopped.set()
            self.changed.set()
        else:
            logger.info("%s again: hurrying", name)
            self.ladder.hurry()

    def _child_died(self) -> None:
        self.children.reap()

    def _readyz(self) -> Reply:
        reason = self.not_ready()
        return (
            Reply(status=503, body=f"{reason}\n") if reason else Reply(status=200, body="ready\n")
        )

    def _healthz(self) -> Reply:
        return Reply(status=200, body=f"{self.role} {self.timeline.stage.value}\n")

    def _metrics(self) -> Reply:
        text = self.reporting.metrics()
        return Reply(status=200, body=text, content_type=metrics.CONTENT_TYPE)


def _soften_limits() -> None:
    """Give all that we start sane limits: mpirun, sshd and its sessions have them from us."""
    soft, hard = rlimits.pair(rlimits.NOFILE)
    files_wanted = limits.softened(soft, hard)
    if files_wanted is not None:
        rlimits.soften(rlimits.NOFILE, files_wanted)
        logger.info(
            "open files: the limit was %s, and is %s for all that starts here", soft, files_wanted
        )
    rlimits.soften(rlimits.MEMLOCK, rlimits.pair(rlimits.MEMLOCK)[1])


def _nothing() -> None:
    """Do nothing."""


async def _as_it_is(outcome: Outcome) -> Outcome:
    """Change nothing."""
    return outcome


def run(
    agent_of: Callable[[], Agent],
    work: Callable[[Agent], Awaitable[Outcome]],
    *,
    threads: int = 0,
) -> int:
    """Run one role to its end and return the exit code of the process.

    Whatever goes wrong becomes an outcome: a fault of our own must not end PID 1 without a word.

    Args:
        agent_of: makes the agent, inside the loop.
        work: the role.
        threads: how many calls may block beside the loop at the same time; 0: the role has few.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    if threads:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not for workers

        loop.set_default_executor(ThreadPoolExecutor(threads))
    return loop.run_until_complete(_run(agent_of, work))


async def _run(agent_of: Callable[[], Agent], work: Callable[[Agent], Awaitable[Outcome]]) -> int:
    agent = agent_of()
    try:
        await agent.start()
        outcome = await work(agent)
    except Exception as fault:  # noqa: BLE001 - the last net of PID 1
        outcome = verdict.of_error(fault)
        if outcome.code == ExitCode.INTERNAL:
            logger.error("internal fault", exc_info=fault)
    try:
        outcome = await agent.at_end(outcome)
    except Exception as fault:  # noqa: BLE001 - as above; the outcome stands
        logger.error("internal fault", exc_info=fault)
    for line in lastwords.recalled(outcome):
        logger.error("%s", line)
    level = logger.info if outcome.code == 0 else logger.error
    level("exit %s: %s", outcome.code, outcome.message)
    agent.conclude(outcome)
    publishing = asyncio.ensure_future(agent.reporting.publish())
    try:
        if await agent.ladder.sweep():
            logger.warning("some processes did not end in time and were killed")
    finally:
        await asyncio.wait({publishing})  # bounded, and both use the same time
        await agent.part()
        agent.close()
    return outcome.code


def leave(code: int) -> None:
    """End the process now: threads that hang in a resolver must not hold the container."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
