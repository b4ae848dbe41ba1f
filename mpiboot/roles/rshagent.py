"""Workers behind a program that stands in for ssh: asked through it, without keys and leases."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from mpiboot.link import control, server
from mpiboot.model.hosts import Host
from mpiboot.model.outcome import Outcome, Stage
from mpiboot.plan import verdict
from mpiboot.plan.gather import Reach, Seen
from mpiboot.roles.agent import SOCKET, Agent
from mpiboot.runtime import files
from mpiboot.runtime.keys import KeyMaterial

# Each question is a process of its own, and one for the API server of the cluster.
_AT_ONCE = 16
_SHOWN = 200

NO_KEYS = KeyMaterial(
    identity="",
    authorized_keys="",
    host_keys=(),
    host_publics=(),
    known_hosts="",
    what="nobody: workers are reached through --rsh-agent",
)


def through(agent: Agent) -> Callable[[Host], Awaitable[Seen]] | None:
    """Return what asks a host whether a command can be run there; None where ssh does it."""
    program, env = agent.settings.rsh_agent, agent.job_env
    if not program:
        return None
    room = asyncio.Semaphore(_AT_ONCE)

    async def ask(host: Host) -> Seen:
        async with room:
            timeout_s = agent.settings.attempt_timeout_s
            done = await agent.children.run(
                [program, host.name, "true"], timeout_s=timeout_s, env=env
            )
        if done.code == 0:
            # Whatever its address is: mpirun calls it by this name, too.
            return Seen(host=host, reach=Reach.BY_AGENT, address=host.name, leased=False)
        said = " ".join(done.text.split())[-_SHOWN:]
        return Seen(host=host, reach=Reach.AGENT_FAILED, detail=said or f"exit {done.code}")

    return ask


async def idle(agent: Agent) -> Outcome:
    """Be a worker that nobody logs in to: commands are run in it from outside; end when told to.

    Raises:
        ConfigError: another agent runs here.
    """
    link = server.without_leases(lambda _what: "", lambda _message: None, control.refuse_all)
    await link.start(agent.directory / SOCKET)
    ready_file = Path(agent.settings.ready_file or agent.directory / "ready")
    files.write(ready_file, "ready\n", mode=0o644)
    agent.not_ready = lambda: ""
    agent.enter(Stage.READY)
    await agent.stopped.wait()
    with contextlib.suppress(OSError):
        ready_file.unlink()
    link.stop()
    return verdict.of_stop(agent.stop_signal or 15, "ready")
