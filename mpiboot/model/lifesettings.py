"""Settings of a job's life: how long, how often, how it is warned, watched, paused and told of."""

from __future__ import annotations

from mpiboot.model.podsettings import PodSettings
from mpiboot.model.record import dataclass
from mpiboot.model.spec import ALL, BOTH, LAUNCHER, LAUNCHING, setting


@dataclass(frozen=True, kw_only=True)
class LifeSettings(PodSettings):
    """What the user wants to happen around the job."""

    deadline_s: float = setting(
        "seconds",
        0.0,
        "time for the whole job, all its attempts and the wait included but no pause, before it ends"
        " with 244; 0: for ever",
        roles=LAUNCHING,
        least=0,
        most=31_536_000,
        metavar="SECONDS",
    )
    launch_retries: int = setting(
        "int",
        2,
        "how often a start-up that failed before any rank ran is tried again",
        roles=LAUNCHING,
        least=0,
        most=1000,
        metavar="N",
    )
    max_restarts: int = setting(
        "int",
        0,
        "how often a job that failed is started again as a whole, on cleaned workers",
        roles=LAUNCHING,
        least=0,
        most=1_000_000,
        metavar="N",
    )
    checkpoint_signal: str = setting(
        "text",
        "TERM",
        "signal that warns the ranks before the job is stopped or paused",
        roles=LAUNCHING,
        choices=("TERM", "INT", "USR1", "USR2"),
        metavar="NAME",
    )
    checkpoint_grace_s: float = setting(
        "seconds",
        15.0,
        "time that warned ranks get to save their work and end, within the stop grace; 0: none",
        roles=ALL,
        least=0,
        most=3600,
        metavar="SECONDS",
    )
    stall_timeout_s: float = setting(
        "seconds",
        0.0,
        "silence of the whole job, with a rank that makes no CPU progress, after which the ranks'"
        " stacks are shown and the job ends with 247; 0: never",
        roles=LAUNCHING,
        least=0,
        most=31_536_000,
        metavar="SECONDS",
    )
    min_workers: int = setting(
        "int",
        0,
        "start with that many workers when not all are ready within the wait timeout, or, with"
        " --elastic, when no further one became ready for the settle time; 0: all are needed",
        roles=LAUNCHING,
        least=0,
        most=100_000,
        metavar="N",
    )
    elastic: bool = setting(
        "flag",
        False,
        "workers may come and go while the job runs: a lost one does not end a command that starts"
        " its ranks itself and reads the script that MPIBOOT_DISCOVERY names",
        roles=LAUNCHING,
    )
    discovery_script: str = setting(
        "path",
        "",
        "where the script that prints the live workers with their slots goes; else"
        " discover_hosts.sh in the runtime directory",
        roles=(LAUNCHER,),
        metavar="FILE",
    )
    workers_leave: str = setting(
        "text",
        "always",
        "when workers leave at the end of the job; else they wait for the next launcher, after a"
        " failure for the retry grace",
        roles=LAUNCHING,
        choices=("always", "on-success", "never"),
        metavar="WHEN",
    )
    debug: bool = setting(
        "flag",
        False,
        "prepare everything, show the plan and wait for `mpiboot run`; a worker stays for ever",
        roles=BOTH,
    )
    debug_command: str = setting(
        "text",
        "",
        "command that a container runs beside the agent with --debug, in words as a shell has them",
        roles=BOTH,
        metavar="COMMAND",
    )
    resume_command: str = setting(
        "text",
        "",
        "command of the job after `mpiboot resume` and on a restart; else the job's own",
        roles=(LAUNCHER,),
        metavar="COMMAND",
    )
    report_file: str = setting(
        "path",
        "",
        "where the whole record of the run goes at its end, with the last output",
        roles=ALL,
        metavar="FILE",
    )
    report_output_kb: int = setting(
        "int",
        64,
        "KiB of the job's last output that the record keeps",
        roles=LAUNCHING,
        least=0,
        most=65536,
        metavar="N",
    )
    metrics_file: str = setting(
        "path",
        "",
        "where the metrics go at the end, for the text-file collector of a node exporter",
        roles=ALL,
        metavar="FILE",
    )
    pushgateway: str = setting(
        "url",
        "",
        "URL of a Pushgateway that gets the metrics at the end",
        metavar="URL",
    )
    push_job: str = setting(
        "text",
        "",
        "name of the job for the Pushgateway; else the hostname less role and number",
        metavar="NAME",
    )
    hooks_dir: str = setting(
        "path",
        "/etc/mpiboot/hooks.d",
        "directory with executables in pre-start/ and post-stop/",
        metavar="DIR",
    )
    hook_timeout_s: float = setting(
        "seconds",
        60.0,
        "time for all hooks of one kind",
        least=0.1,
        most=86_400,
        metavar="SECONDS",
    )
    lease_sessions: bool = setting(
        "flag",
        True,
        "let mpirun's ssh use the connections of the leases in place of its own: up to 256 workers, and"
        " where it is given no words of yours",
        roles=LAUNCHING,
    )
    lease_limit: int = setting(
        "int",
        4096,
        "leases that a launcher holds at most, where its open files suffice (three for each); workers"
        " beyond them do not testify",
        roles=(LAUNCHER,),
        least=1,
        most=100_000,
        metavar="N",
    )
