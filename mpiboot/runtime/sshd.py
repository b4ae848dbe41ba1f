"""A supervised sshd with a configuration of its own; /etc/ssh is never touched."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from mpiboot.errors import ConfigError, MpibootError
from mpiboot.log import logger
from mpiboot.model.counting import counted
from mpiboot.runtime import inspect, processes
from mpiboot.runtime.children import PIPE, Child, Children
from mpiboot.runtime.within import came

_VERSION = re.compile(r"OpenSSH_(\d+)\.(\d+)")
_NO_USER = re.compile(r"Privilege separation user (\S+) does not exist")
_CHECK_S = 20.0
_BACKOFF_S = 0.2
_LINE_LIMIT = 4096
_LISTENING = re.compile(r"^Server listening on (?:0\.0\.0\.0|127\.0\.0\.1) port ")
_SILENT_S = 0.5  # an sshd that has not said by then that it listens is asked by connecting
_NAMES = ("sshd", "sshd-session")  # the latter from OpenSSH 9.8 on


def find(chosen: str, env: Mapping[str, str]) -> str:
    """Return the absolute path of sshd; it insists on being called by one.

    Raises:
        ConfigError: there is none.
    """
    path = inspect.behind_shim(chosen) if chosen else inspect.find_program("sshd", env)
    if not path or not os.access(path, os.X_OK):
        raise ConfigError(
            f"no sshd: {chosen or 'none on PATH, /usr/sbin or /usr/local/sbin'}",
            hint="install openssh-server in this image, or name it with --sshd",
        )
    return str(Path(path).absolute())


async def version(path: str, children: Children, env: Mapping[str, str]) -> tuple[int, int]:
    """Return OpenSSH's version; (0, 0) when it does not say."""
    done = await children.run([path, "-V"], timeout_s=_CHECK_S, env=env)
    found = _VERSION.search(done.text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


class Sshd:
    """Run sshd as a child, start it again within a budget, and pass its log on line by line.

    Args:
        path: sshd's absolute path.
        config: its sshd_config.
        env: its own environment; sessions get theirs from the configuration.
        restarts: how often it may be started again.
        on_line: gets each line of its log.
        on_down: is told when it has ended and will be started again.
        on_again: is told when it has been started again.
        on_fail: is told once when the budget is used up.
    """

    def __init__(
        self,
        children: Children,
        *,
        path: str,
        config: Path,
        env: Mapping[str, str],
        restarts: int,
        on_line: Callable[[str], None],
        on_down: Callable[[str], None],
        on_again: Callable[[], None],
        on_fail: Callable[[str], None],
    ) -> None:
        self._children = children
        self._argv = [path, "-D", "-e", "-f", str(config)]
        self._env = env
        self._budget = restarts
        self._on_line = on_line
        self._on_down = on_down
        self._on_again = on_again
        self._on_fail = on_fail
        self._stopping = False
        self._child: Child | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_error = ""
        self._listening = asyncio.Event()
        self.restarts = 0

    async def login(self, ssh: str, config: Path, *, timeout_s: float, port: int) -> str:
        """Log in as mpirun's ssh would, once it listens.

        Args:
            ssh: the client.
            config: its configuration, where this sshd is the host `loopback`.
            timeout_s: how long it may take to listen, and then to let us in.
            port: where it listens.

        Returns:
            what is wrong; empty: nothing.
        """
        if not await came(self._listening, min(_SILENT_S, timeout_s)):
            await _port_open(port, timeout_s)
        argv = [ssh, "-F", str(config), "-n", "loopback", "true"]
        done = await self._children.run(argv, timeout_s=timeout_s, env=self._env)
        if done.code == 0:
            return ""
        return done.text[-500:] or f"ssh ended with {done.code}"

    async def check(self) -> None:
        """Let sshd judge its configuration.

        Raises:
            ConfigError: with sshd's own words.
        """
        argv = [self._argv[0], "-t", *self._argv[3:]]
        done = await self._children.run(argv, timeout_s=_CHECK_S, env=self._env)
        if done.code:
            user = _NO_USER.search(done.text)
            raise ConfigError(
                f"sshd refuses its configuration ({done.code}): {done.text}",
                hint=f"add the user to the image: useradd --system {user[1]}" if user else "",
            )

    def start(self) -> None:
        """Start it and watch it."""
        self._listening.clear()
        child = self._children.spawn(self._argv, name="sshd", env=self._env, stderr=PIPE)
        self._child = child
        for work in (self._read(child), self._watch(child)):
            task = asyncio.get_running_loop().create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @property
    def child(self) -> Child | None:
        """The sshd that listens now."""
        return self._child

    def sessions(self) -> int:
        """Count the connections that sshd serves now, and those that an sshd before it left."""
        if self._child is None:
            return 0
        left = processes.adopted(_NAMES) - self._child.running
        place = Path(f"/proc/{self._child.pid}/task/{self._child.pid}/children")
        try:
            return left + len(place.read_text().split())
        except OSError:
            return left

    def stop(self) -> None:
        """Stop listening; nothing is started again."""
        self._stopping = True
        if self._child is not None:
            self._child.signal(signal.SIGTERM)

    async def _read(self, child: Child) -> None:
        reader = asyncio.StreamReader(limit=_LINE_LIMIT)
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(reader)
        await loop.connect_read_pipe(lambda: protocol, child.popen.stderr)
        while True:
            try:
                line = await reader.readline()
            except ValueError:
                continue  # longer than the limit: that part is dropped
            if not line:
                return
            text = line.decode(errors="replace").strip()
            if _LISTENING.match(text):
                self._listening.set()
            if text.startswith(("error:", "fatal:", "Bind to port")):
                self._last_error = text.rstrip(".")
            self._on_line(text)

    async def _watch(self, child: Child) -> None:
        code = await child.ended
        if self._stopping:
            return
        if self.restarts >= self._budget:
            said = f": {self._last_error}" if self._last_error else ""
            self._on_fail(
                f"sshd ended with {code}, {counted(self._budget, 'restart is', 'restarts are')} used up{said}"
            )
            return
        self.restarts += 1
        self._on_down(f"sshd ended with {code} and is started again")
        logger.warning("sshd ended with %s: start %s of %s", code, self.restarts, self._budget)
        await asyncio.sleep(_BACKOFF_S * 2 ** min(self.restarts - 1, 5))
        if not self._stopping:
            self._restart()

    def _restart(self) -> None:
        try:
            self.start()
        except MpibootError as fault:
            self._on_fail(str(fault))
        else:
            self._on_again()


async def _port_open(port: int, timeout_s: float) -> None:
    """Wait until the port accepts; a refused connection costs nothing and tells the moment.

    An accepted one costs sshd a process, so this is for an sshd whose log does not tell.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    while loop.time() < end:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.005)
        else:
            writer.close()
            return
