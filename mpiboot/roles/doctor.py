"""The doctor: look at this container, judge, and say it; beyond what is asked for nobody is called."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence

from mpiboot import log
from mpiboot.errors import ConfigError, ExitCode, MpibootError, ProblemsError, UsageError
from mpiboot.model import checkup, flags, options
from mpiboot.model.checkup import Checkup, Reached, Trial
from mpiboot.model.diagnosis import Diagnosis, Grade
from mpiboot.model.options import Resolved
from mpiboot.model.record import dataclass, replace
from mpiboot.model.spec import LAUNCHER
from mpiboot.plan.doctor import topics
from mpiboot.report import diagnosis
from mpiboot.roles import account, checking, proving, reaching, rshagent, surroundings
from mpiboot.roles.agent import Agent
from mpiboot.roles.checking import Checking
from mpiboot.roles.reaching import Reaching
from mpiboot.roles.trying import tried
from mpiboot.runtime import openssh
from mpiboot.runtime.signals import SignalPump

_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
_LOGIN_S = 30.0
_MORE = (
    "Every option of worker and launcher is one of this command, too. The job's command may follow"
    " after --: then it is looked at as the launcher would."
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a command line asks for.

    Attributes:
        as_json: whether the answer is JSON.
        login: whether a login is to be proven.
        reach: whether the workers are to be called.
        words: options that are settings.
        command: of the job; empty: not given.
    """

    as_json: bool
    login: bool
    reach: bool
    words: Sequence[str]
    command: Sequence[str]


def parse(argv: Sequence[str]) -> Request:
    """Read the words of `mpiboot doctor`.

    Raises:
        UsageError: they make no sense.
    """
    words, command = options.split_command(argv)
    made = flags.bare(
        "mpiboot doctor",
        "Look at this container and say what will fail, and what to change. " + _MORE,
        settings="",
    )
    made.add_argument("--json", action="store_true", help="answer in JSON (see docs/doctor.md)")
    made.add_argument(
        "--login",
        action="store_true",
        help="prove a login to an sshd on loopback, as a worker does",
    )
    made.add_argument(
        "--reach",
        action="store_true",
        help="(launcher) ask each worker's sshd once, without a login",
    )
    given, rest = made.parse_known_args(list(words))
    return Request(
        as_json=given.json, login=given.login, reach=given.reach, words=rest, command=command or ()
    )


def run(
    request: Request, resolve: Callable[[Sequence[str]], Resolved], env: Mapping[str, str]
) -> tuple[int, str]:
    """Examine this container.

    Args:
        request: what is asked for.
        resolve: reads the settings, with the words of the command line.
        env: the environment.

    Returns:
        exit code and text.

    Raises:
        ProblemsError: the command line is wrong.
    """
    try:
        resolved = surroundings.fitted(resolve(request.words), env)
    except MpibootError as fault:
        if fault.code == ExitCode.USAGE:
            raise
        problems = fault.problems if isinstance(fault, ProblemsError) else [str(fault)]
        found = topics.of_problems("", problems)
    else:
        log.configure("doctor", level="warning")
        # No executor is shut down: a thread that hangs in a resolver must not keep us.
        loop = asyncio.new_event_loop()
        found = loop.run_until_complete(_examine(request, resolved, env))
    shown = diagnosis.as_json(found) if request.as_json else diagnosis.text(found)
    return found.code, shown


async def _examine(request: Request, resolved: Resolved, env: Mapping[str, str]) -> Diagnosis:
    settings = resolved.settings
    role, identity = checking.identified(settings, env, resolved.origins["role"])
    if request.reach and role != LAUNCHER:
        raise UsageError(
            "--reach is for a launcher, and a worker is judged here",
            hint="ask in the launcher's container, or add --role launcher and who the workers are",
        )
    agent = Agent(role, settings, env)
    me, stops = asyncio.current_task(), list[int]()
    pump = SignalPump(lambda number: _stop(me, stops, number), agent.children.reap)
    pump.start()
    try:
        look = Checking(role, identity, agent, resolved, request.command)
        seen = await look.look()
        if request.login:
            seen = replace(seen, login=await _login(agent))
        if request.reach:
            seen = replace(seen, reached=await _reach(agent, look, seen))
        return topics.examine(seen)
    except asyncio.CancelledError:
        raise SystemExit(128 + stops[0]) from None
    finally:
        for child in agent.children.running:
            child.signal_group(signal.SIGKILL)
        pump.stop()


def _stop(task: asyncio.Task[Diagnosis] | None, stops: list[int], number: int) -> None:
    """End the look; what was made for it is removed on the way out."""
    if task is not None and number in _STOPPING:
        stops.append(number)
        task.cancel()


async def _login(agent: Agent) -> Trial:
    program = agent.settings.rsh_agent
    if program:
        return Trial(
            text=f"not tried: workers are reached through {program}, nobody logs in to them"
        )
    try:
        with proving.private_directory(agent) as agent.directory:
            return (await tried(proving.login(agent), str, "a login", _LOGIN_S)).trial
    except ConfigError as fault:
        return checkup.failed(fault)


async def _reach(agent: Agent, look: Checking, seen: Checkup) -> list[Reached]:
    """Call the workers; without keys, account or ssh nobody can be called, which is told elsewhere."""
    instead = rshagent.through(agent)
    if instead is not None:
        return await reaching.through(instead, look.hosts)
    if look.material is None or seen.user.account.fault or seen.ssh.fault:
        return []
    ssh = openssh.client(agent.job_env)
    try:
        with proving.private_directory(agent) as directory:
            account.settle(agent.job_env, directory, serving=False)
            knocking = Reaching(
                children=agent.children,
                ssh=ssh,
                settings=agent.settings,
                material=look.material,
                directory=directory,
                env=agent.job_env,
            )
            return await knocking.all(look.hosts)
    except ConfigError as fault:
        return [Reached(name="all", grade=Grade.WARNING, text=str(fault))]
