"""A worker that knows its launcher, and not the other way: it says where it is until it is called back."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from pathlib import Path

from mpiboot.errors import ConfigError, MpibootError
from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.model.fields import printable
from mpiboot.plan import announcing
from mpiboot.plan.announcing import Announcement
from mpiboot.plan.sshconf import SUBSYSTEM
from mpiboot.roles.agent import Agent
from mpiboot.roles.serving import default_port
from mpiboot.runtime import inspect, resolve
from mpiboot.runtime.children import PIPE, Child
from mpiboot.runtime.lines import Lines
from mpiboot.runtime.resolve import NoNameError
from mpiboot.runtime.within import within

_ATTEMPT_S = 15.0
_STOP_S = 1.0


class Announcer:
    """Announces this node over SSH, through the launcher's own sshd and the bridge behind it.

    One short-lived ssh for each announcement: a worker holds no SSH library in memory.

    Args:
        agent: the agent at work.
        config: an ssh_config for logins to agents of the job.

    Raises:
        ConfigError: --announce-to cannot be read.
    """

    def __init__(self, agent: Agent, config: Path) -> None:
        settings = agent.settings
        self._agent = agent
        self._config = config
        self._port = default_port(settings)
        self._to = announcing.target(settings.announce_to, self._port)
        self._index = settings.announce_index if settings.announce_index >= 0 else None
        self._alone = asyncio.Event()
        self._alone.set()
        self._told = ""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to announce."""
        host, port = self._to
        logger.info("announcing this node to %s port %s", host, port)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def leased(self, *, held: bool) -> None:
        """Rest while a launcher holds this worker; begin anew when none does any more."""
        if held:
            self._alone.clear()
        else:
            self._alone.set()

    def stop(self) -> None:
        """Announce no more."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        tries, heard = 0, False
        while True:
            if not self._alone.is_set():
                await self._alone.wait()
                tries, heard = 0, False
            fault = await self._once()
            if heard is bool(fault):
                tries, heard = 0, not fault
            self._tell(fault or "the launcher knows of this node")
            pause_s = announcing.pause_s(tries, heard=heard)
            tries += 1
            await asyncio.sleep(pause_s * random.uniform(0.8, 1.2))  # noqa: S311 - spreads load

    def _tell(self, text: str) -> None:
        """Log what is new."""
        if text != self._told:
            self._told = text
            logger.info("announcement: %s", text)

    async def _once(self) -> str:
        """Announce once; return why it was not heard, or nothing."""
        host, port = self._to
        try:
            address = await resolve.address_towards(host, port, _ATTEMPT_S)
            said = Announcement(address=address, port=self._port, index=self._index)
            return await self._say(messages.announce_message(said), host, port)
        except asyncio.TimeoutError:  # an OSError too, from Python 3.11 on
            return f"{host} port {port} did not answer within {_ATTEMPT_S:g} s"
        except (NoNameError, OSError) as fault:
            return f"{host}: {fault}"
        except MpibootError as fault:
            return str(fault)

    async def _say(self, message: Message, host: str, port: int) -> str:
        call = _Call(self._child(host, port), message)
        try:
            return await within(_ATTEMPT_S, call.answer)
        finally:
            await call.end()

    def _child(self, host: str, port: int) -> Child:
        agent = self._agent
        ssh = inspect.find_program("ssh", agent.job_env)
        if ssh is None:
            raise ConfigError("no ssh client on PATH", hint="install openssh-client in this image")
        argv = [ssh, "-F", str(self._config), "-p", str(port), "-s", host, SUBSYSTEM]
        return agent.children.spawn(
            argv, name="announcement", env=agent.job_env, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )


class _Call:
    """One ssh that carries one announcement and its answer.

    Attributes:
        answer: why it was not heard, or empty.
    """

    def __init__(self, child: Child, message: Message) -> None:
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._child = child
        self._last = b""
        self._out = Lines(child.popen.stdout, self._hear)
        self._err = Lines(child.popen.stderr, self._complain)
        self._err.ended.add_done_callback(lambda _: self._answered(self._complaint()))
        with contextlib.suppress(OSError):  # an ssh that has ended already says why on stderr
            assert child.popen.stdin is not None  # noqa: S101 - it is PIPE above
            child.popen.stdin.write(message.encode())  # a pipe takes that much without a reader
            child.popen.stdin.flush()

    async def end(self) -> None:
        """Let go of ssh: its stdin ends, and with it the bridge at the other side."""
        with contextlib.suppress(OSError):
            assert self._child.popen.stdin is not None  # noqa: S101 - as above
            self._child.popen.stdin.close()
        await asyncio.wait({self._child.ended}, timeout=_STOP_S)
        if self._child.running:
            self._child.signal_group(signal.SIGKILL)
        self._out.close()
        self._err.close()

    def _hear(self, line: bytes) -> None:
        message = messages.decode(line)
        if message is not None and message.kind == messages.ANNOUNCE:
            ok = message.body.get("ok") is True
            refused = "" if ok else f"refused: {message.text('text')[:300]}"
            self._answered(refused)

    def _complain(self, line: bytes) -> None:
        self._last = line or self._last

    def _complaint(self) -> str:
        text = printable(self._last.decode(errors="replace"))
        return text[:300] or "ssh ended without a word"

    def _answered(self, fault: str) -> None:
        if not self.answer.done():
            self.answer.set_result(fault)
