"""Ask each worker's sshd once whether it takes the job's key.

There is no login: an idle worker must not believe that its job has come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from mpiboot.errors import MpibootError
from mpiboot.model.checkup import Reached
from mpiboot.model.diagnosis import Grade
from mpiboot.model.hosts import Host
from mpiboot.model.settings import Settings
from mpiboot.plan import sshconf
from mpiboot.plan.doctor import reaching
from mpiboot.plan.gather import Reach, Seen
from mpiboot.plan.layout import Place
from mpiboot.roles import account, ground
from mpiboot.roles.serving import default_port
from mpiboot.runtime import files, resolve
from mpiboot.runtime.children import Children
from mpiboot.runtime.keys import KeyMaterial
from mpiboot.runtime.resolve import NoNameError

_AT_ONCE = 16
_STEP_S = 5.0  # a name; then a connection with its key exchange


async def through(ask: Callable[[Host], Awaitable[Seen]], hosts: Sequence[Host]) -> list[Reached]:
    """Ask all of them by the program that stands in for ssh."""

    async def one(host: Host) -> Reached:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            grade, text = reaching.by_agent(await ask(host))
        except MpibootError as fault:
            grade, text = Grade.WARNING, str(fault)
        return Reached(name=host.name, grade=grade, text=text, seconds=loop.time() - begun)

    return await asyncio.gather(*map(one, hosts))


class Reaching:
    """Knocks at workers.

    Args:
        children: who starts ssh.
        ssh: its path.
        settings: what the user chose.
        material: the job's keys, of which only the public ones are used.
        directory: a private one, for ssh's files.
        env: the environment in which ssh is started.
    """

    def __init__(
        self,
        *,
        children: Children,
        ssh: str,
        settings: Settings,
        material: KeyMaterial,
        directory: Path,
        env: Mapping[str, str],
    ) -> None:
        self._children = children
        self._ssh = ssh
        self._settings = settings
        self._material = material
        self._directory = directory
        self._env = env
        self._door = asyncio.Semaphore(_AT_ONCE)

    async def all(self, hosts: Sequence[Host]) -> list[Reached]:
        """Ask all of them, some at a time."""
        # ssh asks whether a key would do if it has the public half of it only.
        identity = self._directory / "job.pub"
        files.write(identity, self._material.host_publics[1] + "\n")
        return await asyncio.gather(*(self._one(host, identity) for host in hosts))

    async def _one(self, host: Host, identity: Path) -> Reached:
        async with self._door:
            loop = asyncio.get_running_loop()
            begun = loop.time()
            try:
                addresses = [host.name]
                if not host.is_address:
                    addresses = await resolve.lookup(host.name, _STEP_S)
                grade, text = await self._ask(host, addresses[0], identity)
            except NoNameError as fault:
                grade, text = Grade.WARNING, f"{Reach.NO_NAME.value}: {fault}"
            return Reached(name=host.name, grade=grade, text=text, seconds=loop.time() - begun)

    async def _ask(self, host: Host, address: str, identity: Path) -> tuple[Grade, str]:
        settings, material = self._settings, self._material
        port = host.port or default_port(settings)
        name = address.replace(":", "-")
        place = Place(
            name=host.name, node=name, slots=1, address=address, port=port, user=host.user or "",
            why="",
        )  # fmt: skip
        known, config = (self._directory / f"{kind}-{name}" for kind in ("known", "config"))
        given = ground.known_hosts(settings, material)
        files.write(known, sshconf.known_hosts(material.host_publics, [place], given))
        text = sshconf.ssh_config(
            [place], user=settings.ssh_user or account.name(self._env), port=port, identity=str(identity),
            known_hosts=str(known),
        )  # fmt: skip
        files.write(config, text)
        argv = [self._ssh, "-v", "-n", "-o", f"ConnectTimeout={_STEP_S:.0f}", "-F", str(config), name,
                "true"]  # fmt: skip
        done = await self._children.run(argv, timeout_s=_STEP_S * 2, env=self._env)
        return reaching.told(done.text)
