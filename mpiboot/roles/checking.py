"""Look at this container with the eyes of a role, and change nothing in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpiboot import platforms
from mpiboot.errors import MpibootError
from mpiboot.link import server
from mpiboot.model import checkup, redacted
from mpiboot.model.checkup import Checkup, Trial, User
from mpiboot.model.facts import Facts
from mpiboot.model.hosts import Host
from mpiboot.model.options import DEFAULT, Resolved
from mpiboot.model.places import File, Room
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings, specs
from mpiboot.model.spec import LAUNCHER, WORKER
from mpiboot.plan import passenv
from mpiboot.plan import privileges as judging
from mpiboot.roles import account, describing, ground, installation, surroundings, whereabouts
from mpiboot.roles.agent import SOCKET, Agent
from mpiboot.roles.installation import Installation
from mpiboot.roles.serving import default_port
from mpiboot.roles.trying import Tried, judged, tried
from mpiboot.runtime import container, files, keys, memory, openssh, privileges, sshd
from mpiboot.runtime.keys import KeyMaterial

_NO_PROGRAM = ("true",)  # of which nothing can be learned
_FACTS_S = 10.0


def identified(settings: Settings, env: Mapping[str, str], origin: str) -> tuple[str, Trial]:
    """Tell the role and what says so; a worker where nothing does.

    Args:
        settings: what was chosen.
        env: the environment.
        origin: where the setting `role` came from.
    """
    try:
        found = platforms.identify(surroundings.seen(settings, env))
    except MpibootError as fault:
        return WORKER, checkup.failed(fault)
    if not origin.startswith("flag"):
        return found.role, Trial(text=found.why)
    try:
        other = platforms.identify(surroundings.seen(replace(settings, role=""), env))
    except MpibootError:
        return found.role, Trial(text="--role asks for it")
    return found.role, Trial(text=f"--role asks for it; here is a {other.role}: {other.why}")


class Checking:
    """One look at this container.

    Args:
        role: whose eyes.
        identity: what says that it is this role.
        agent: with settings and environment; its children are asked.
        resolved: the settings with their origins.
        command: of the job; empty: not known.

    Attributes:
        material: the job's keys; None where there are none.
        hosts: the workers that can be reached by now.
    """

    def __init__(
        self, role: str, identity: Trial, agent: Agent, resolved: Resolved, command: Sequence[str]
    ) -> None:
        self._role = role
        self._identity = identity
        self._agent = agent
        self._settings = resolved.settings
        self._resolved = resolved
        self._command = tuple(command) or _NO_PROGRAM
        self.material: KeyMaterial | None = None
        self.hosts: Sequence[Host] = ()

    async def look(self) -> Checkup:
        """Look at all that needs no login; what takes time is done at once."""
        settings, agent, role = self._settings, self._agent, self._role
        source, hosts = whereabouts.workers(role, settings, agent.env)
        asked = asyncio.ensure_future(whereabouts.names(source, settings))
        keyed = asyncio.ensure_future(tried(self._keys(), _told_of_keys, "reading the keys"))
        serving = asyncio.ensure_future(tried(self._sshd(), str, "sshd -V"))
        client = asyncio.ensure_future(tried(self._ssh(), str, "ssh -V"))
        called = asyncio.ensure_future(self._call())
        facts = asyncio.ensure_future(tried(self._facts(), str, "this container", _FACTS_S))
        names, mpi, found, ssh = await asked, await called, await keyed, await client
        self.material = found.made
        self.hosts = whereabouts.hosts(source, names)
        return Checkup(
            role=role,
            identity=self._identity,
            platform=judged(lambda: platforms.place(surroundings.seen(settings, agent.env))),
            files=self._files(),
            settings=self._chosen(),
            user=self._user(),
            privileges=privileges.own(),
            demanded=privileges.demanded(self._sshd_path()),
            copy=judged(self._copy),
            sshd=(await serving).trial,
            ssh=ssh.made or ssh.trial,
            keys=found.trial,
            runtime=judged(self._runtime),
            rooms=self._rooms(),
            names=replace(names, refused=whereabouts.bearable(mpi.made)),
            hosts=hosts,
            ports=whereabouts.taken(role, settings),
            ssh_port=default_port(settings),
            rsh_agent=settings.rsh_agent,
            mpi=mpi.trial,
            may_be_elsewhere=bool(settings.mpi_home or settings.mpirun),
            facts=(await facts).made or Facts(),
            slots=settings.slots,
            limits=container.limits(),
            shm=container.shared_memory(),
            memory=memory.counters(),
            first=container.first(await self._agent_here()),
        )

    def _user(self) -> User:
        """Say which account OpenSSH will see, or why it will see none that is of use."""
        env = self._agent.job_env
        try:
            found = account.foresee(env, serving=self._role == WORKER)
        except MpibootError as fault:
            return container.user(checkup.failed(fault), None, env)
        return container.user(Trial(text=found.told or found.entry.name), found.entry, env)

    def _chosen(self) -> list[str]:
        """List the settings that are not the defaults."""
        settings, origins = self._settings, self._resolved.origins
        return [
            f"{spec.key}={redacted.shown(spec, getattr(settings, spec.name))} ({origins[spec.name]})"
            for spec in specs()
            if origins[spec.name] != DEFAULT
        ]

    def _files(self) -> list[File]:
        """Describe the files that the platforms ask for, that settings name, and the job's keys."""
        settings = self._settings
        named = (
            *platforms.wanted_files(settings, self._agent.env),
            *(settings.secret_file, settings.known_hosts),
            *container.listed(settings.key_dir),
        )
        found = (container.file(path) for path in dict.fromkeys(named))
        return [one for one in found if one is not None]

    async def _keys(self) -> KeyMaterial:
        agent = self._agent
        origin = keys.find(self._settings, agent.env)
        material = await keys.examine_in_child(origin, agent.children)
        if self._role == LAUNCHER:
            ground.known_hosts(self._settings, material)
        return material

    async def _sshd(self) -> str:
        path = sshd.find(self._settings.sshd, self._agent.job_env)
        why = files.barrier(openssh.PRIVSEP) if openssh.privsep_missing() else ""
        if why:
            raise openssh.no_privsep(why)
        if judging.barred(privileges.own(), privileges.demanded(path)):
            return path  # it cannot even tell its version
        return await self._openssh(path)

    async def _ssh(self) -> Trial:
        path, env = openssh.client(self._agent.job_env), self._agent.job_env
        return account.of_client(path, env) or Trial(text=await self._openssh(path))

    async def _openssh(self, path: str) -> str:
        version = await sshd.version(path, self._agent.children, self._agent.job_env)
        if not any(version):
            return f"{path}, which does not tell its version"
        return f"{path}, OpenSSH {version[0]}.{version[1]}"

    def _sshd_path(self) -> str:
        return judged(lambda: sshd.find(self._settings.sshd, self._agent.job_env)).text or "/"

    async def _call(self) -> Tried[Installation]:
        """Find what a launcher calls; a worker calls nothing."""
        if self._role != LAUNCHER:
            return Tried(trial=Trial())
        return await tried(self._mpi(), _told_of_mpi, "mpirun --version")

    async def _mpi(self) -> Installation:
        agent = self._agent
        return await installation.find(self._settings, agent.job_env, agent.children, self._command)

    async def _facts(self) -> Facts:
        settings, agent = self._settings, self._agent
        session_env, _ = passenv.session_environment(
            agent.job_env, allow=settings.session_env_allow, deny=settings.session_env_deny
        )
        return await describing.describe(
            agent.children, agent.job_env, session_env=session_env, link=""
        )

    def _directory(self) -> Path:
        return files.foreseen_dir(self._settings.runtime_dir, self._agent.env, self._role)

    def _runtime(self) -> str:
        return f"{self._directory()} for keys and sockets"

    def _copy(self) -> str:
        """Tell whether a copy of sshd could be started, should it be needed."""
        directory = self._directory()
        if files.noexec(directory):
            raise openssh.no_copy(self._sshd_path(), directory)
        return ""

    def _rooms(self) -> list[Room]:
        settings, env = self._settings, self._agent.job_env
        wanted = [
            (env.get("TMPDIR") or "/tmp", "MPI's session files"),  # noqa: S108 - where MPI makes them
            (settings.status_file, "the status file"),
            (settings.report_file, "the report"),
            (settings.metrics_file, "the metrics file"),
        ]
        if os.access(settings.termination_log, os.F_OK):
            wanted.append((settings.termination_log, "the termination message"))
        return [container.room(path, purpose) for path, purpose in wanted if path]

    async def _agent_here(self) -> str:
        """Name the role of an agent that runs here; empty for none."""
        for base in files.candidates(self._settings.runtime_dir, self._agent.env):
            for role in (WORKER, LAUNCHER):
                path = base / role / SOCKET
                if os.access(path, os.F_OK) and await server.ask(path, "live") == "":
                    return role
        return ""


def _told_of_keys(material: KeyMaterial) -> str:
    kind = material.host_publics[1].partition(" ")[0]
    return f"{kind} from {material.what}; private copies are used, whatever the modes there"


def _told_of_mpi(found: Installation) -> str:
    return f"{found.mpi}: {found.mpirun}"
