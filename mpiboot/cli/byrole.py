"""The agent itself: as worker, as launcher, and as what the platform says; and what it would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot import log
from mpiboot.cli.sources import default_signals, needed, resolve
from mpiboot.errors import ExitCode, ProblemsError
from mpiboot.model import options, redacted
from mpiboot.model.options import Resolved
from mpiboot.model.settings import Settings, specs
from mpiboot.model.spec import LAUNCHER, WORKER
from mpiboot.runtime import headstart, plainloop


def auto(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Take the role that the platform, or the user's variable, says."""
    words, command = options.split_command(argv)
    resolved = resolve("", words, env)
    role = _role_of(resolved.settings, env)
    strange = [
        f"option {spec.flag} is not for the {role}, which this container is"
        for spec in specs()
        if role not in spec.roles and resolved.origins[spec.name].startswith("flag")
    ]
    if strange:
        raise ProblemsError(strange, code=ExitCode.USAGE)
    return as_role(role, resolved, command, env)


def _role_of(settings: Settings, env: Mapping[str, str]) -> str:
    from mpiboot import platforms  # noqa: PLC0415 - imports follow need: start-up time counts
    from mpiboot.roles import surroundings  # noqa: PLC0415

    return platforms.identify(surroundings.seen(settings, env)).role


def worker(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Serve sshd, report readiness, leave with the job."""
    words, command = options.split_command(argv)
    return as_role(WORKER, resolve("worker", words, env, WORKER), command, env)


def launcher(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Wait for the workers, run the job, tell the truth."""
    words, command = options.split_command(argv)
    return as_role(LAUNCHER, resolve("launcher", words, env, LAUNCHER), command, env)


def as_role(
    role: str, resolved: Resolved, command: list[str] | None, env: Mapping[str, str]
) -> int:
    """Be the agent of this container, and leave with its code."""
    from mpiboot.roles import surroundings  # noqa: PLC0415

    resolved = surroundings.fitted(resolved, env)
    settings = resolved.settings
    log.configure(role, level=settings.log_level, as_json=settings.log_format == "json")
    seen = redacted.remark(resolved.origins)
    if seen:
        log.logger.warning("%s", seen)
    if role == WORKER and not settings.ssh_user and not settings.rsh_agent:
        headstart.begin()  # as the user that we stay, and only where sshd will run
    plainloop.load()
    from mpiboot.roles import agent  # noqa: PLC0415

    if role == WORKER:
        from mpiboot.roles import serveduser, worker  # noqa: PLC0415

        if command:
            log.logger.info("a worker runs no command of its own: %s is the launcher's", command[0])
        settings, env = serveduser.become(settings, env)
        code = agent.run(lambda: agent.Agent(role, settings, env, resolved.origins), worker.work)
    else:
        from mpiboot.roles import launcher  # noqa: PLC0415

        words = needed(command)
        code = agent.run(
            lambda: agent.Agent(role, settings, env, resolved.origins),
            lambda made: launcher.Launcher(made, words).run(),
            threads=launcher.THREADS,
        )
    agent.leave(code)
    return code


def plan(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Show what the launcher would do, and why."""
    from mpiboot.roles import preview, surroundings  # noqa: PLC0415

    words, command = options.split_command(argv)
    resolved = surroundings.fitted(resolve("plan", words, env, LAUNCHER), env)
    default_signals()
    print(preview.text(resolved.settings, env, needed(command)), end="")
    return 0
