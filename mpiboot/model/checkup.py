"""What the doctor has looked at in a container."""

from __future__ import annotations

from collections.abc import Sequence

from mpiboot.errors import MpibootError
from mpiboot.model.diagnosis import Grade
from mpiboot.model.facts import Facts
from mpiboot.model.memory import Memory
from mpiboot.model.places import File, Room
from mpiboot.model.privileges import Privileges
from mpiboot.model.record import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a role would do, done as far as it changes nothing.

    Attributes:
        text: what came of it; empty when it failed.
        fault: the role's own words where it would fail.
        remedy: its own hint; beside a text: of what the role needs for it.
        code: its exit code.
    """

    text: str = ""
    fault: str = ""
    remedy: str = ""
    code: int = 0


def failed(fault: MpibootError) -> Trial:
    """Keep what a role would say before it ended."""
    return Trial(fault=str(fault.args[0]), remedy=fault.hint, code=int(fault.code))


@dataclass(frozen=True, kw_only=True)
class User:
    """Who this process is.

    Attributes:
        uid: its number.
        gid: that of its group.
        account: the one that OpenSSH sees, or why there is none that is of use.
        locked: whether the account is locked with `!`; only root can see that.
        home: the account's home directory, where a session begins.
        home_there: whether it is a directory.
        home_env: HOME.
    """

    uid: int
    gid: int
    account: Trial
    locked: bool = False
    home: str = ""
    home_there: bool = True
    home_env: str = ""


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port that has to be free.

    Attributes:
        number: which.
        purpose: what for.
        why_not: why it cannot be listened on; empty where it can.
        holder: the process that listens on it; empty when it cannot be seen.
        denied: whether it may not be listened on, whoever else does.
        optional: whether the agent goes on without it.
        flag: the option that chooses another one.
    """

    number: int
    purpose: str
    flag: str
    why_not: str = ""
    holder: str = ""
    denied: bool = False
    optional: bool = False


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the resolver says of a name.

    Attributes:
        name: as it was asked for.
        addresses: the answer, IPv4 first.
        why_not: the resolver's own words where there is none.
    """

    name: str
    addresses: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names, and how they are looked up.

    Attributes:
        hostname: this container's own name.
        refused: what this MPI says against it; nothing where it takes it.
        resolver: text of /etc/resolv.conf.
        own: the own name's answer.
        workers: those of the workers, as far as they were asked for.
        unasked: how many more there are.
    """

    hostname: str
    refused: Trial = field(default_factory=Trial)
    resolver: str = ""
    own: Asked | None = None
    workers: tuple[Asked, ...] = ()
    unasked: int = 0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of this process and its container; -1 unlimited, None unknown.

    Attributes:
        nofile: soft and hard limit of open files.
        memlock_bytes: what sessions may lock: the agent raises the soft limit to the hard one.
        pids: how many processes and threads the cgroup may have.
        pids_used: how many it has.
        cgroup: version of the interface that counts memory; 0: none is to be seen.
    """

    nofile: tuple[int, int] = (-1, -1)
    memlock_bytes: int = -1
    pids: int | None = None
    pids_used: int | None = None
    cgroup: int = 0


@dataclass(frozen=True, kw_only=True)
class First:
    """Process 1 of this container.

    Attributes:
        argv: its command line, as far as it can be read.
        here: whether the doctor is it.
        catches: whether it has a handler for TERM.
        agent: the role of an mpiboot that runs here; empty: none does.
    """

    argv: tuple[str, ...] = ()
    here: bool = False
    catches: bool = True
    agent: str = ""


@dataclass(frozen=True, kw_only=True)
class Reached:
    """How far a worker was reached.

    Attributes:
        name: the worker.
        grade: ok where its sshd takes the job's key.
        text: what it said.
        seconds: how long that took.
    """

    name: str
    grade: Grade
    text: str
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Checkup:
    """All that was looked at.

    Attributes:
        role: which role is judged.
        identity: what says so.
        platform: what is seen of a platform, whatever the settings say.
        files: files that the platform or the settings name, as far as they are there.
        settings: settings that somebody or something chose, `key=value (origin)`.
        user: who this is.
        privileges: what it may do.
        demanded: capabilities that sshd's file demands.
        sshd: the server: found, its version, and what has to be made for it.
        copy: what comes of copying it, where it has to be.
        ssh: the client.
        keys: the job's keys.
        runtime: the agent's private directory; others that are written to are `rooms`.
        hosts: the workers, as the launcher would find them.
        ports: ports that have to be free.
        ssh_port: where sshd listens.
        rsh_agent: program by which workers are reached in place of ssh; empty: ssh.
        mpi: mpirun, as a launcher would call it; empty for a worker.
        may_be_elsewhere: whether the settings name an MPI that need not be on PATH.
        facts: what this container tells of itself.
        slots: the setting: a number or `auto`.
        limits: its limits; `memory` is what its cgroup counts, `shm` is /dev/shm.
        first: process 1.
        login: a login to an sshd of our own; None: not asked for.
        reached: the workers; None: not asked for.
    """

    role: str
    identity: Trial
    platform: Trial
    user: User
    privileges: Privileges
    sshd: Trial
    ssh: Trial
    keys: Trial
    runtime: Trial
    names: Names
    hosts: Trial
    mpi: Trial
    limits: Limits
    shm: Room
    first: First
    settings: Sequence[str] = ()
    files: Sequence[File] = ()
    demanded: frozenset[str] = frozenset()
    copy: Trial = field(default_factory=Trial)
    rooms: Sequence[Room] = ()
    ports: Sequence[Port] = ()
    ssh_port: int = 22
    rsh_agent: str = ""
    may_be_elsewhere: bool = False
    facts: Facts = field(default_factory=Facts)
    slots: str = "auto"
    memory: Memory = field(default_factory=Memory)
    login: Trial | None = None
    reached: Sequence[Reached] | None = None
