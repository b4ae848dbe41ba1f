"""All topics in order: what each looks at, and when it warns or fails; the documentation's table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mpiboot.errors import ExitCode
from mpiboot.model.checkup import Checkup
from mpiboot.model.diagnosis import Diagnosis, Finding, Grade
from mpiboot.model.record import dataclass
from mpiboot.model.spec import BOTH, LAUNCHER, WORKER
from mpiboot.plan.doctor import access, network, places, strength


@dataclass(frozen=True, kw_only=True)
class Topic:
    """One thing to look at.

    Attributes:
        name: how it is called in the report.
        judge: what was looked at → findings.
        looks: what is looked at.
        warns: when it warns, and the remedy; empty: never.
        fails: when the role will fail, and the remedy; empty: never.
        code: what the role would end with; None: never.
        roles: whose it is.
        by_ssh: whether it is about logins by SSH only, which a program in place of ssh does not need.
    """

    name: str
    judge: Callable[[Checkup], Iterable[Finding]]
    looks: str
    warns: str = ""
    fails: str = ""
    code: ExitCode | None = None
    roles: tuple[str, ...] = BOTH
    by_ssh: bool = False

    def applies(self, seen: Checkup) -> bool:
        """Tell whether it is a topic for the role, and for the way in which workers are reached."""
        return seen.role in self.roles and not (self.by_ssh and seen.rsh_agent)


SETTINGS = "settings"
TOPICS = (
    Topic(
        name="role",
        judge=access.role,
        looks="role, and what says so",
        warns="nothing says it: call `mpiboot worker` or `mpiboot launcher`, or set `MPIBOOT_ROLE`",
    ),
    Topic(
        name="platform",
        judge=access.platform,
        looks="which platform's variables and files are here",
        fails="what they say cannot be read: correct it, or name role and workers yourself",
        code=ExitCode.CONFIG,
    ),
    Topic(
        name=SETTINGS,
        judge=access.settings,
        looks="settings that you, a file or the platform chose, with their origin",
        fails="one is unknown or out of range: correct it; nothing else is looked at then",
        code=ExitCode.CONFIG,
    ),
    Topic(
        name="files",
        judge=places.files,
        looks="files that a platform or a setting names, and those of `--key-dir`: mode, owner",
        warns="one cannot be read: `fsGroup`, `defaultMode`",
    ),
    Topic(
        name="user",
        judge=access.user,
        looks="uid, entry in /etc/passwd, shell, home, lock",
        warns="the home is missing, or the account is locked: make it, `usermod -p '*'`",
        fails="no entry (78), and nothing here that makes one up: add one, run as a user that has"
        " one, or install libnss-wrapper; no usable shell (242): `usermod -s`",
        code=ExitCode.CONFIG,
    ),
    Topic(
        name="privileges",
        judge=access.allowed,
        looks="capabilities, those that sshd's file demands, the lowest free port",
        warns="sshd's file demands what is not to be had: a copy is run; `setcap -r` in the image",
        fails="root lacks SETUID, SETGID or SYS_CHROOT: add them, or run as another user; the port is"
        " privileged: `--ssh-port`, or NET_BIND_SERVICE; the copy would be on a noexec mount:"
        " `MPIBOOT_RUNTIME_DIR`",
        code=ExitCode.CONFIG,
        roles=(WORKER,),
        by_ssh=True,
    ),
    Topic(
        name="sshd",
        judge=access.sshd,
        looks="sshd, its version, /run/sshd",
        fails="no sshd: install openssh-server, or `--sshd`; /run/sshd cannot be made: mount a tmpfs"
        " at /run",
        code=ExitCode.CONFIG,
        roles=(WORKER,),
        by_ssh=True,
    ),
    Topic(
        name="ssh",
        judge=access.ssh,
        looks="ssh and its version; a worker proves its own login with it; with `--rsh-agent` that it is"
        " not needed, and nothing else of SSH is looked at",
        warns="it does nothing, because this uid has no account: see user",
        fails="none on PATH: install openssh-client",
        code=ExitCode.CONFIG,
    ),
    Topic(
        name="keys",
        judge=access.keys,
        looks="where the job's keys come from, and whether they can be read and used",
        fails="none, unreadable (path, mode, owner and uid are named): `fsGroup`, `defaultMode`; too"
        " short a secret: `mpiboot keygen`; a key with a passphrase: make one without",
        code=ExitCode.CONFIG,
        by_ssh=True,
    ),
    Topic(
        name="places",
        judge=places.places,
        looks="the private directory, TMPDIR, and where reports were asked for: writable, free",
        warns="TMPDIR or a report's place cannot be written, or is full: mount a tmpfs or a volume",
        fails="no place for the private directory: mount a tmpfs at /run or /tmp, or"
        " `MPIBOOT_RUNTIME_DIR`",
        code=ExitCode.CONFIG,
    ),
    Topic(
        name="hostname",
        judge=network.hostname,
        looks="the own name, and what it resolves to",
        warns="it is a loopback address: correct /etc/hosts",
        fails="this MPI cannot bear it (an underscore, with Open MPI 4): set another hostname",
        code=ExitCode.CONFIG,
    ),
    Topic(
        name="networks", judge=network.networks, looks="interfaces that are up",
        warns="there is none but loopback",
    ),
    Topic(
        name="names",
        judge=network.resolver,
        looks="/etc/resolv.conf, and (launcher) what DNS answers for each worker, 256 at most",
        warns="some do not resolve now, or to IPv6 only",
        fails="a worker's name is a loopback address: correct /etc/hosts or the record",
        code=ExitCode.NOT_READY,
    ),
    Topic(
        name="workers",
        judge=network.hosts,
        looks="who they are, and whether `-np` fits their slots",
        fails="none are named, or the list cannot be read, or there are too few slots: `--hosts`,"
        " `--hostfile`, `-np`, `--oversubscribe`",
        code=ExitCode.CONFIG,
        roles=(LAUNCHER,),
    ),
    Topic(
        name="ports",
        judge=network.ports,
        looks="ports of sshd (worker) and of probes: free, or who holds them",
        warns="the default port of probes is taken: `--http-port`",
        fails="sshd's port, or one of probes that you chose, is taken: `--ssh-port`, `--http-port`",
        code=ExitCode.CONFIG,
    ),
    Topic(
        name="MPI",
        judge=strength.mpi,
        looks="mpirun, its version, its daemon on the PATH of sessions; the job's program, if given"
        " after `--`",
        warns="(worker) an MPI that is not known",
        fails="none, or without its daemon: install it, PATH, `--mpi-home`; the program is linked to"
        " another one; (launcher) one that is not known",
        code=ExitCode.CONFIG,
    ),
    Topic(
        name="shared memory",
        judge=places.shared_memory,
        looks="size of /dev/shm; whether ranks may read each other's memory",
        warns="less than MPI and the slots need, 64 MiB or less, below 1 GiB with GPUs, full, or"
        " missing: `--shm-size`, an emptyDir of medium Memory; reading is forbidden: `--cap-add SYS_PTRACE`",
    ),
    Topic(
        name="CPUs", judge=strength.cpus, looks="quota, cpuset, GPUs, slots",
        warns="more slots than CPUs: raise the limit, or `--slots`",
    ),
    Topic(
        name="memory", judge=strength.memory,
        looks="cgroup version, limit, use, OOM kills",
        warns="something was OOM-killed here, less than 64 MiB are left, or no cgroup is to be seen",
    ),
    Topic(
        name="limits",
        judge=strength.limits,
        looks="open files, locked memory, processes",
        warns="at most fewer than 1,024 open files; memlock not unlimited where there is RDMA; fewer"
        " processes and threads left than the slots need: `--ulimit`, `--pids-limit`",
    ),
    Topic(
        name="process 1", judge=strength.first, looks="who gets the signals of a stop",
        warns="it has no handler for TERM: make mpiboot the entry point",
    ),
    Topic(
        name="login",
        judge=network.login,
        looks="with `--login`: a login to an sshd of our own on loopback, as a worker proves it",
        fails="it does not work; sshd's own words are given",
        code=ExitCode.LAUNCH_FAILED,
    ),
    Topic(
        name="reach",
        judge=network.reached,
        looks="with `--reach`: each worker once: name, port, host key, whether it takes the job's key",
        warns="it does not answer yet, or nobody could be asked",
        fails="it shows another host key, or refuses the job's: same key material, same user",
        code=ExitCode.NOT_READY,
        roles=(LAUNCHER,),
    ),
)  # fmt: skip


def examine(seen: Checkup) -> Diagnosis:
    """Judge all that was looked at."""
    found = [
        (topic.name, finding)
        for topic in TOPICS
        if topic.applies(seen)
        for finding in topic.judge(seen)
    ]
    return Diagnosis(role=seen.role, findings=found)


def of_problems(role: str, problems: Sequence[str]) -> Diagnosis:
    """Report settings that cannot be read; without them nothing else can be judged."""
    code = int(ExitCode.CONFIG)
    faults = [Finding(grade=Grade.FAIL, text=text, code=code) for text in problems]
    return Diagnosis(role=role, findings=[(SETTINGS, fault) for fault in faults])


def markdown() -> str:
    """Render the table of all topics for the documentation."""
    lines = [
        "| topic | for | looks at | warning, and the remedy | will fail, and the remedy | code |",
        "|---|---|---|---|---|---|",
    ]
    for topic in TOPICS:
        code = str(int(topic.code)) if topic.code is not None else ""
        cells = (topic.name, ", ".join(topic.roles), topic.looks, topic.warns, topic.fails, code)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
