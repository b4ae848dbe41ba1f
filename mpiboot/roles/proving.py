"""Prove a login to an sshd of our own on loopback, with what a worker would use, and clean up."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from mpiboot.errors import LaunchFailedError
from mpiboot.model.record import replace
from mpiboot.mpi import DIALECTS
from mpiboot.roles import account
from mpiboot.roles.agent import Agent
from mpiboot.roles.serving import LOOPBACK, Service
from mpiboot.runtime import files, inspect, openssh, ports
from mpiboot.runtime.within import within

_ADDRESS = "127.0.0.1"
_END_S = 2.0
_ASK_S = 5.0


@contextlib.contextmanager
def private_directory(agent: Agent) -> Iterator[Path]:
    """Make a directory where a role would have its own, for a while.

    Raises:
        ConfigError: there is no place for it.
    """
    base = files.foreseen_dir(agent.settings.runtime_dir, agent.env, "doctor").parent
    there = base.exists()
    path = files.runtime_dir(agent.settings.runtime_dir, agent.env, "doctor")
    try:
        yield path
    finally:
        shutil.rmtree(path if there else base, ignore_errors=True)


async def login(agent: Agent) -> str:
    """Start sshd on a free port of loopback, log in, and look for MPI's daemon in the session.

    Args:
        agent: with the settings; its children start sshd.

    Returns:
        what was proven.

    Raises:
        MpibootError: what a worker would say.
    """
    async with _serving(agent) as service:
        user, facts = account.name(agent.job_env), service.facts
        path = await _session_path(agent)
        names = [name for dialect in DIALECTS for name in dialect.DAEMONS]
        mpirun = facts.mpi_path if facts is not None else ""
        daemon = inspect.find_daemon(mpirun or "/", names, {"PATH": path})
        found = (
            f", whose session finds {daemon}" if daemon else ", whose session finds no MPI daemon"
        )
        return f"a login of {user} works{found}"


@contextlib.asynccontextmanager
async def _serving(agent: Agent) -> AsyncIterator[Service]:
    made = openssh.privsep_missing()
    agent.settings = replace(agent.settings, ssh_port=ports.free())
    service = Service(
        agent,
        on_login=lambda _line: None,
        on_down=lambda _why: None,
        on_up=lambda: None,
        on_fail=lambda _why: None,
        on_facts=lambda: None,
        address=_ADDRESS,
    )
    try:
        await service.start()
        yield service
    finally:
        await _end(service)
        if made:
            with contextlib.suppress(OSError):
                openssh.PRIVSEP.rmdir()


async def _end(service: Service) -> None:
    serving = service.sshd
    if serving is None or serving.child is None:
        return
    serving.stop()
    try:
        await within(_END_S, serving.child.ended)
    except asyncio.TimeoutError:
        serving.child.signal_group(signal.SIGKILL)


async def _session_path(agent: Agent) -> str:
    """Ask a session for its PATH: what a shell reads at its start may have changed it."""
    ssh = openssh.client(agent.job_env)
    argv = [ssh, "-F", str(agent.directory / LOOPBACK), "-n", "loopback", 'echo "$PATH"']
    done = await agent.children.run(argv, timeout_s=_ASK_S, env=agent.job_env)
    if done.code:
        raise LaunchFailedError(f"a second login fails: {done.text[-300:]}")
    return done.stdout.decode(errors="replace").strip().rpartition("\n")[2]
