"""Every setting, declared once: one field is one flag, one variable, one YAML key, one row of the docs."""

from __future__ import annotations

from collections.abc import Iterator

from mpiboot.model.meetingsettings import MeetingSettings
from mpiboot.model.record import dataclass, fields
from mpiboot.model.spec import ALL, LAUNCHER, LAUNCHING, WORKER, Spec, setting
from mpiboot.model.termination import KUBERNETES_MESSAGE


@dataclass(frozen=True, kw_only=True)
class Settings(MeetingSettings):
    """What the user chose. Times are seconds; an empty text means "not set"."""

    role: str = setting(
        "text",
        "",
        "role of this container when the command does not say it",
        choices=("", "launcher", "worker"),
        metavar="ROLE",
    )
    log_level: str = setting(
        "text",
        "info",
        "least severe line of the agent's own log that is shown",
        roles=ALL,
        choices=("debug", "info", "warning", "error"),
        metavar="LEVEL",
    )
    log_format: str = setting(
        "text",
        "text",
        "form of the agent's log",
        roles=ALL,
        choices=("text", "json"),
        metavar="FORM",
    )
    runtime_dir: str = setting(
        "path",
        "",
        "private directory of the agent; else /run/mpiboot, $TMPDIR/mpiboot-UID or"
        " /dev/shm/mpiboot-UID, the first that can be written",
        metavar="DIR",
    )
    http_port: int = setting(
        "int",
        9650,
        "port of /readyz, /healthz and /metrics; 0 switches them off",
        least=0,
        most=65535,
        metavar="PORT",
    )
    page: bool = setting(
        "flag",
        True,
        "serve a page of the job at / of that port, with /view.json and /events",
        roles=LAUNCHING,
    )
    status_file: str = setting(
        "path",
        "",
        "where the status JSON goes; else status.json in the runtime directory",
        roles=ALL,
        metavar="FILE",
    )
    termination_log: str = setting(
        "path",
        KUBERNETES_MESSAGE,
        "where the compact outcome goes (4096 bytes at most); the default only where it exists",
        roles=ALL,
        metavar="FILE",
    )
    stop_grace_s: float = setting(
        "seconds",
        25.0,
        "time for everything to end after a TERM; keep it below the pod's grace",
        least=0.1,
        most=3600,
        metavar="SECONDS",
    )
    ssh_port: int = setting(
        "int",
        0,
        "port of the workers' sshd; 0 means 22 for root and 2222 for others",
        least=0,
        most=65535,
        metavar="PORT",
    )
    ssh_user: str = setting(
        "text",
        "",
        "user to log in as on the workers, else the agent's own; a worker that root has started"
        " becomes this user, whom its sshd serves",
        metavar="NAME",
    )
    key_dir: str = setting(
        "path",
        "",
        "directory with the job's key pair; else /etc/mpiboot/keys or ~/.ssh",
        metavar="DIR",
    )
    secret: str = setting(
        "secret",
        "",
        "the job secret from which all keys are derived; a file is safer",
        metavar="TEXT",
    )
    secret_file: str = setting(
        "path",
        "",
        "file that holds the job secret",
        metavar="FILE",
    )
    known_hosts: str = setting(
        "path",
        "",
        "known_hosts file with host keys of plain-sshd workers",
        roles=(LAUNCHER,),
        metavar="FILE",
    )
    heartbeat_s: float = setting(
        "seconds",
        3.0,
        "time between two heartbeats of a lease",
        least=0.1,
        most=600,
        metavar="SECONDS",
    )
    lease_timeout_s: float = setting(
        "seconds",
        15.0,
        "silence after which the other end of a lease counts as lost",
        least=0.5,
        most=3600,
        metavar="SECONDS",
    )
    sshd: str = setting(
        "path", "", "sshd to run; else the one found", roles=(WORKER,), metavar="FILE"
    )
    sshd_log_level: str = setting(
        "text",
        "INFO",
        "LogLevel of sshd",
        roles=(WORKER,),
        choices=("QUIET", "FATAL", "ERROR", "INFO", "VERBOSE", "DEBUG"),
        metavar="LEVEL",
    )
    sshd_restarts: int = setting(
        "int",
        3,
        "how often an sshd that died is started again before the worker fails",
        roles=(WORKER,),
        least=0,
        most=1000,
        metavar="N",
    )
    ready_file: str = setting(
        "path",
        "",
        "file that exists while the worker is ready; else ready in the runtime directory",
        roles=(WORKER,),
        metavar="FILE",
    )
    first_contact_s: float = setting(
        "seconds",
        3600.0,
        "how long a worker waits for its first launcher before it leaves with 246",
        roles=(WORKER,),
        least=1,
        most=31_536_000,
        metavar="SECONDS",
    )
    retry_grace_s: float = setting(
        "seconds",
        60.0,
        "how long a worker waits for the launcher to come back after it was lost"
        " or an attempt failed, before it leaves with 245",
        roles=(WORKER,),
        least=0,
        most=31_536_000,
        metavar="SECONDS",
    )
    session_env_allow: tuple[str, ...] = setting(
        "words",
        (),
        "variables that reach SSH sessions although they look like secrets (globs)",
        roles=(WORKER,),
        metavar="NAME",
    )
    session_env_deny: tuple[str, ...] = setting(
        "words",
        (),
        "variables that never reach SSH sessions (globs)",
        roles=(WORKER,),
        metavar="NAME",
    )
    hosts: str = setting(
        "text",
        "",
        "workers: a:2,b:2 (name:slots), w-[0-7] for eight of them, dns:NAME to take every address of"
        " a name, or announce:N for N nodes that announce themselves (announce:N:OWN where this"
        " container is node OWN of the N)",
        roles=(LAUNCHER,),
        short=("-H",),
        metavar="LIST",
    )
    hostfile: str = setting(
        "path",
        "",
        "file with one worker a line: name slots=2 or name:2",
        roles=(LAUNCHER,),
        metavar="FILE",
    )
    workers: int = setting(
        "int",
        0,
        "how many workers to expect of dns:NAME or --host-script (0: as many as stay for --settle), or"
        " how many numbered pods take part; for `local`, how many to start (0: 2)",
        roles=LAUNCHING,
        least=0,
        most=100_000,
        metavar="N",
    )
    settle_s: float = setting(
        "seconds",
        2.0,
        "how long the answer of dns:NAME must stay the same when no count is given, and how long an"
        " elastic job with --min-workers waits for a further worker",
        roles=(LAUNCHER,),
        least=0,
        most=600,
        metavar="SECONDS",
    )
    slots: str = setting(
        "slots",
        "auto",
        "slots of a worker that has none given: a number, or auto: its visible"
        " GPUs, else its CPUs by quota and cpuset",
        roles=LAUNCHING,
        metavar="N|auto",
    )
    wait_timeout_s: float = setting(
        "seconds",
        600.0,
        "how long to wait for all workers",
        roles=LAUNCHING,
        least=0.1,
        most=31_536_000,
        metavar="SECONDS",
    )
    attempt_timeout_s: float = setting(
        "seconds",
        10.0,
        "how long one connection or login may take",
        roles=LAUNCHING,
        least=0.1,
        most=600,
        metavar="SECONDS",
    )
    strikes: int = setting(
        "int",
        3,
        "how many times the same permanent fault (key refused, wrong host key) ends the"
        " wait early; 0 waits to the end",
        roles=LAUNCHING,
        least=0,
        most=1000,
        metavar="N",
    )
    failure_is_final: bool = setting(
        "flag",
        True,
        "a failed job is not retried: workers leave with it",
        roles=(LAUNCHER,),
    )
    progress: str = setting(
        "text",
        "auto",
        "table of the workers while waiting; auto: on a terminal",
        roles=LAUNCHING,
        choices=("auto", "on", "off"),
        metavar="WHEN",
    )


def specs(role: str = "") -> Iterator[Spec]:
    """Yield the declaration of every setting, or of those that one role takes as flags."""
    for field in fields(Settings):
        if not role or role in field.metadata["roles"]:
            yield Spec(name=field.name, default=field.default, **field.metadata)
