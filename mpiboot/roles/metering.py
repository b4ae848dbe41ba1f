"""Tell what this container uses, when somebody asks: nobody pays for it else."""

from __future__ import annotations

import shutil
import time

from mpiboot.errors import MpibootError
from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.server import LinkServer
from mpiboot.model.record import replace
from mpiboot.model.usage import Gpu, Usage, gpus_of
from mpiboot.roles import stalling
from mpiboot.roles.agent import Agent
from mpiboot.runtime import inspect, memory, usage

_GPU_ARGS = (
    "--query-gpu=index,name,utilization.gpu,memory.used,memory.total",
    "--format=csv,noheader,nounits",
)
_GPU_S = 5.0  # nvidia-smi takes up to a second, and for ever where a driver hangs
_GPUS_EVERY_S = 4.0


class Metering:
    """What this container and its ranks use.

    Args:
        agent: the agent at work.
        link: where the ranks' wrappers are connected.
    """

    def __init__(self, agent: Agent, link: LinkServer) -> None:
        self._agent = agent
        self._link = link
        self._gpus: tuple[Gpu, ...] = ()
        self._asked_at = -_GPUS_EVERY_S
        self._smi: str | None = None

    async def answer(self) -> Message:
        """Make the answer to a launcher that asks."""
        body = (await self.read()).to_json()
        return Message(kind=messages.USAGE, body=messages.stamped(body))

    async def read(self) -> Usage:
        """Read what is used now."""
        table, counted = usage.Table(), memory.counters()
        programs = stalling.programs(self._link)
        cpu_ms, rss_bytes = table.all_used()
        used = {rank: table.used(pid) for rank, pid in programs.items()}
        reading = Usage(
            at_s=time.time(),  # noqa: TID251 - a launcher compares it with our own next one alone
            cpu_ms=cpu_ms,
            memory_bytes=rss_bytes,
            limit_bytes=counted.limit_bytes,
            ranks={rank: one for rank, one in used.items() if one is not None},
        )
        if counted.limit_bytes is not None and counted.used_bytes is not None:
            # Where there is a limit, what counts against it matters, the cache of files included.
            reading = replace(reading, memory_bytes=counted.used_bytes)
        return replace(reading, gpus=await self._seen_gpus())

    async def _seen_gpus(self) -> tuple[Gpu, ...]:
        """Ask nvidia-smi now and then, where a session here sees a GPU."""
        now = time.monotonic()
        if now - self._asked_at < _GPUS_EVERY_S:
            return self._gpus
        self._asked_at = now
        env = self._agent.job_env
        if self._smi is None:
            there = inspect.gpus(env) > 0
            self._smi = (shutil.which("nvidia-smi", path=env.get("PATH")) or "") if there else ""
        if self._smi:
            try:
                ran = await self._agent.children.run(
                    [self._smi, *_GPU_ARGS], timeout_s=_GPU_S, env=env
                )
            except MpibootError:
                return self._gpus
            self._gpus = gpus_of(ran.stdout.decode(errors="replace")) if ran.code == 0 else ()
        return self._gpus
