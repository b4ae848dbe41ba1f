"""Bring a worker's sshd up, from key material to a login that was proven to work."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from mpiboot.errors import ConfigError, LaunchFailedError, MpibootError
from mpiboot.link import bridge
from mpiboot.log import logger
from mpiboot.model.facts import Facts
from mpiboot.model.settings import Settings
from mpiboot.plan import passenv, sshconf, sshlog
from mpiboot.plan import privileges as judging
from mpiboot.plan.layout import Place
from mpiboot.plan.sshlog import Line
from mpiboot.roles import account, admission, describing
from mpiboot.roles.agent import SOCKET, Agent
from mpiboot.runtime import files, keys, openssh, ports, privileges, sshd
from mpiboot.runtime.account import locked
from mpiboot.runtime.keys import KeyMaterial
from mpiboot.runtime.sshd import Sshd

LOOPBACK = "loopback_config"  # ssh's configuration for logins to ourselves; the host is `loopback`
_LOGIN_S = 20.0
_LOGIN_TRIES = 3
_SHOWN = 20  # names of variables in one line of the log


def default_port(settings: Settings) -> int:
    """Return the port of a worker's sshd where nothing else is said."""
    return settings.ssh_port or (22 if os.getuid() == 0 else 2222)


class Service:
    """A worker's sshd and what it needs.

    Attributes:
        client_config: an ssh_config for logins to any agent of the job, once `start` is through.

    Args:
        agent: the agent at work.
        on_login: is told of each login, session and closed connection after the first proof.
        on_down: is told when logins stop to work for a while, and why.
        on_up: is told when one has worked again.
        on_fail: is told once when sshd cannot be kept up.
        on_facts: is told once when `facts` are known, which may be before the first proof.
        log_level: of sshd's lines that are shown; empty: the setting's.
        address: where sshd listens; empty: on all addresses.
        peers: how many nodes may log in at the same moment.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        on_login: Callable[[Line], None],
        on_down: Callable[[str], None],
        on_up: Callable[[], None],
        on_fail: Callable[[str], None],
        on_facts: Callable[[], None],
        log_level: str = "",
        address: str = "",
        peers: int = 0,
    ) -> None:
        self._agent = agent
        self._settings = agent.settings
        self._on_login = on_login
        self._on_down = on_down
        self._on_up = on_up
        self._on_fail = on_fail
        self._on_facts = on_facts
        self._log_level = log_level or self._settings.sshd_log_level
        self._address = address
        self._peers = peers
        self._repeats = sshlog.Repeats()
        self._proven = False
        self._again: asyncio.Task[None] | None = None
        self._prove: Callable[[], Awaitable[None]] | None = None
        self.client_config = agent.directory / LOOPBACK
        self.failed = ""
        self.rejected = 0
        self.sshd: Sshd | None = None
        self.facts: Facts | None = None

    async def start(self) -> None:
        """Start sshd and prove that a login works.

        Raises:
            ConfigError: something that it needs is missing or refused.
            LaunchFailedError: it runs, but a login does not work.
        """
        agent, settings = self._agent, self._settings
        path = self._able(sshd.find(settings.sshd, agent.job_env))
        user = account.settle(agent.job_env, agent.directory, serving=True)
        origin = keys.find(settings, agent.env)
        openssh.make_privsep_directory()
        # A container of several CPUs has one to spare now, and none while sshd starts and logs in.
        looking = asyncio.ensure_future(self._look_around())
        try:
            await self._begin(path, user, origin, looking)
        finally:
            looking.cancel()
            # Who failed first is told, and nobody else.
            await asyncio.gather(looking, return_exceptions=True)

    async def _begin(
        self, path: str, user: str, origin: keys.Origin, looking: asyncio.Future[None]
    ) -> None:
        """Start sshd with the keys, as soon as there are any; end when a login works and we have looked."""
        agent, settings = self._agent, self._settings
        material, version = await asyncio.gather(
            keys.prepare_in_child(origin, agent.directory, agent.children),
            sshd.version(path, agent.children, agent.job_env),
        )
        logger.info("keys from %s, sshd %s of OpenSSH %s.%s", material.what, path, *version)
        self.sshd = Sshd(
            agent.children,
            path=path,
            config=self._write_config(user, material, version),
            env=agent.job_env,
            restarts=settings.sshd_restarts,
            on_line=self._said,
            on_down=self._went_down,
            on_again=self._came_back,
            on_fail=self._ended,
        )
        await self.sshd.check()
        self.sshd.start()
        await asyncio.gather(self._prove_login(user, material), looking)
        self._proven = True
        self._prove = lambda: self._prove_login(user, material)

    def _able(self, path: str) -> str:
        """Return an sshd that can be started here; one whose file demands too much is copied.

        Raises:
            ConfigError: it could not listen, or let nobody in.
        """
        own, demanded = privileges.own(), privileges.demanded(path)
        barred = judging.barred(own, demanded)
        if barred:
            told = ", ".join(sorted(barred))
            logger.info("%s demands %s, which is not to be had: a copy of it is run", path, told)
            path, demanded = openssh.copied(path, self._agent.directory), frozenset()
        judging.check_serving(own, port=default_port(self._settings), demanded=demanded)
        return path

    def _write_config(self, user: str, material: KeyMaterial, version: tuple[int, int]) -> Path:
        agent, settings = self._agent, self._settings
        environment, left_out = passenv.session_environment(
            agent.job_env, allow=settings.session_env_allow, deny=settings.session_env_deny
        )
        if left_out:
            more = f", and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
            shown = ", ".join(left_out[:_SHOWN])
            logger.info("not given to SSH sessions: %s%s", shown, more)
        environment[passenv.LINK] = str(agent.directory / SOCKET)  # ranks report there
        program = [sys.executable, "-I", "-S", bridge.__file__, environment[passenv.LINK]]
        terms = sshconf.ServerTerms(
            port=default_port(settings),
            address=self._address,
            user=user,
            host_keys=material.host_keys,
            authorized_keys=material.authorized_keys,
            environment=environment,
            bridge=[shlex.quote(word) for word in program],
            log_level="DEBUG" if self._log_level == "DEBUG" else "VERBOSE",
            openssh=version,
            use_pam=os.getuid() == 0 and locked(user),
            strict_modes=files.strictly_private(Path(material.authorized_keys)),
            startups=admission.at_once(self._peers),
            sources=admission.admitted(settings),
            pty=settings.ssh_pty,
        )
        path = agent.directory / "sshd_config"
        files.write(path, sshconf.sshd_config(terms))
        return path

    async def _prove_login(self, user: str, material: KeyMaterial) -> None:
        """Log in to ourselves, with the same ssh and the same checks as mpirun will."""
        agent, port = self._agent, default_port(self._settings)
        ssh = openssh.client(agent.job_env)
        config = self._loopback_config(user, port, material)
        fault = ""
        for attempt in range(_LOGIN_TRIES):
            await asyncio.sleep(attempt)
            if self.failed:
                raise ConfigError(self.failed)
            assert self.sshd is not None  # noqa: S101 - it was started before
            fault = await self.sshd.login(ssh, config, timeout_s=_LOGIN_S, port=port)
            if not fault:
                return
        raise LaunchFailedError(
            f"sshd runs, but a login of {user} to this container fails: {fault}",
            hint="see sshd's own lines above; is the account usable, has it a shell?",
        )

    def _loopback_config(self, user: str, port: int, material: KeyMaterial) -> Path:
        known, config = self._agent.directory / "known_hosts", self.client_config
        files.write(known, sshconf.known_hosts(material.host_publics))
        here = Place(
            name="loopback", node="loopback", slots=1, address="127.0.0.1", port=port, user=user, why=""
        )  # fmt: skip
        text = sshconf.ssh_config(
            [here], user=user, port=port, identity=material.identity, known_hosts=str(known)
        )
        files.write(config, text)
        return config

    async def _look_around(self) -> None:
        """Learn the facts that launchers will ask for, in a process that gives its memory back."""
        agent, settings = self._agent, self._settings
        environment, _ = passenv.session_environment(
            agent.job_env, allow=settings.session_env_allow, deny=settings.session_env_deny
        )
        link = str(agent.directory / SOCKET)
        self.facts = await describing.describe(
            agent.children, agent.job_env, session_env=environment, link=link
        )
        self._on_facts()

    def _said(self, line: str) -> None:
        """Pass a line of sshd's log on, and take note of logins."""
        what, level = sshlog.classify(line), self._log_level
        # A launcher may be sooner than our own proof, which comes over loopback.
        own = not self._proven and sshlog.by_loopback(line)
        muted = level not in ("VERBOSE", "DEBUG") and self._repeats.muted(what, line)
        if sshlog.shown(what, level) and not (own and what is Line.ACCEPTED) and not muted:
            logger.log(sshlog.severity(what, level), "sshd: %s", line)
        self.rejected += sshlog.refused(line)
        if what in (Line.ACCEPTED, Line.CLOSED, Line.SESSION) and not own:
            self._on_login(what)

    def _went_down(self, why: str) -> None:
        if self._prove is not None:
            self._proven = False
            self._on_down(why)

    def _came_back(self) -> None:
        """Prove a login anew; before the first proof, that one is still under way."""
        if self._prove is not None:
            self._again = asyncio.ensure_future(self._prove_again(self._prove()))

    async def _prove_again(self, proof: Awaitable[None]) -> None:
        try:
            await proof
        except MpibootError as fault:
            self._gone(str(fault))
        else:
            self._proven = True
            self._on_up()

    def _ended(self, why: str) -> None:
        port = default_port(self._settings)
        holder = ports.holder(port)  # not ours, which has ended
        self._gone(f"{why}; port {port} is held by {holder}" if holder else why)

    def _gone(self, why: str) -> None:
        self.failed = why
        self._on_fail(why)
