"""Every metric, declared once: docs/metrics.md is made of this table."""

from __future__ import annotations

from mpiboot.model.spec import LAUNCHER, WORKER
from mpiboot.report.metrics import Metric

_OF_LAUNCHER = (LAUNCHER,)
_OF_WORKER = (WORKER,)

INFO = Metric(
    name="mpiboot_info",
    kind="gauge",
    text="Version and role of this agent.",
    labels=("version", "role"),
)
STAGE = Metric(
    name="mpiboot_stage",
    kind="gauge",
    text="1 for the stage that the agent is in, 0 for the others.",
    labels=("stage",),
)
STAGE_SECONDS = Metric(
    name="mpiboot_stage_seconds",
    kind="gauge",
    text="Time spent in each stage of this run so far, in seconds.",
    labels=("stage",),
)
PHASE = Metric(
    name="mpiboot_phase",
    kind="gauge",
    text="1 for the phase of now, as Kubernetes names phases, 0 for the others.",
    labels=("phase",),
)
CONDITION = Metric(
    name="mpiboot_condition",
    kind="gauge",
    text="1 for the status of each condition of the status file, 0 for its other statuses.",
    labels=("condition", "status"),
)
EXIT_CODE = Metric(
    name="mpiboot_exit_code",
    kind="gauge",
    text="Exit code of this agent; absent before its end.",
)
FAULT = Metric(
    name="mpiboot_fault",
    kind="gauge",
    text="1 for who should act on the outcome (none: nobody), 0 for the others; absent before the end.",
    labels=("fault",),
)
FIRST_FAILURE = Metric(
    name="mpiboot_first_failure",
    kind="gauge",
    text="1, with the first rank that failed: rank, host, exit code or signal; absent without one.",
    labels=("rank", "host", "code", "signal"),
)
ORPHANS = Metric(
    name="mpiboot_reaped_orphans_total",
    kind="counter",
    text="Orphaned processes that this agent has reaped.",
)

WORKERS_EXPECTED = Metric(
    name="mpiboot_workers_expected",
    kind="gauge",
    text="Workers that the job waits for; 0 while that is not known.",
    roles=_OF_LAUNCHER,
)
WORKERS_READY = Metric(
    name="mpiboot_workers_ready",
    kind="gauge",
    text="Workers on which a login works.",
    roles=_OF_LAUNCHER,
)
WORKERS = Metric(
    name="mpiboot_workers",
    kind="gauge",
    text="Workers in each phase.",
    labels=("phase",),
    roles=_OF_LAUNCHER,
)
WORKER_WAIT = Metric(
    name="mpiboot_worker_wait_seconds",
    kind="gauge",
    text="How long each worker was waited for, in seconds; absent beyond 128 workers.",
    labels=("worker",),
    roles=_OF_LAUNCHER,
)
LONGEST_WAIT = Metric(
    name="mpiboot_worker_wait_max_seconds",
    kind="gauge",
    text="How long the last worker that came was waited for, in seconds.",
    roles=_OF_LAUNCHER,
)
PROBE_FAILURES = Metric(
    name="mpiboot_probe_failures_total",
    kind="counter",
    text="Attempts to reach a worker that failed, by kind.",
    labels=("kind",),
    roles=_OF_LAUNCHER,
)
LEASES_HELD = Metric(
    name="mpiboot_leases_held",
    kind="gauge",
    text="Leases that this launcher holds.",
    roles=_OF_LAUNCHER,
)
LEASES_LOST = Metric(
    name="mpiboot_leases_lost_total",
    kind="counter",
    text="Leases that were lost, while waiting or while the job ran.",
    roles=_OF_LAUNCHER,
)
HEARTBEAT_AGE = Metric(
    name="mpiboot_heartbeat_age_max_seconds",
    kind="gauge",
    text="Silence of the worker that was heard longest ago, in seconds; 0 without leases.",
    roles=_OF_LAUNCHER,
)
ATTEMPTS = Metric(
    name="mpiboot_attempts_total",
    kind="counter",
    text="Attempts at the job, the first one included.",
    roles=_OF_LAUNCHER,
)
LAUNCH_RETRIES = Metric(
    name="mpiboot_launch_retries_total",
    kind="counter",
    text="Attempts that were made because a start-up failed before any rank ran.",
    roles=_OF_LAUNCHER,
)
RESTARTS = Metric(
    name="mpiboot_restarts_total",
    kind="counter",
    text="Attempts that were made because the job failed as a whole.",
    roles=_OF_LAUNCHER,
)
OOM_KILLS = Metric(
    name="mpiboot_oom_kills_total",
    kind="counter",
    text="Processes that the kernel killed for want of memory on the job's hosts, as workers testify.",
    roles=_OF_LAUNCHER,
)
PEAK_MEMORY = Metric(
    name="mpiboot_worker_peak_memory_bytes",
    kind="gauge",
    text="Peak memory of each worker's container, as it testifies; absent beyond 128 workers.",
    labels=("worker",),
    roles=_OF_LAUNCHER,
)
HIGHEST_PEAK = Metric(
    name="mpiboot_worker_peak_memory_max_bytes",
    kind="gauge",
    text="Peak memory of the worker that used most; absent before one has testified.",
    roles=_OF_LAUNCHER,
)
JOB_DURATION = Metric(
    name="mpiboot_job_duration_seconds",
    kind="gauge",
    text="How long mpirun has run, in seconds.",
    roles=_OF_LAUNCHER,
)
JOB_EXIT_CODE = Metric(
    name="mpiboot_job_exit_code",
    kind="gauge",
    text="Exit code of the job; absent before its end.",
    roles=_OF_LAUNCHER,
)

READY = Metric(
    name="mpiboot_ready",
    kind="gauge",
    text="1 when a login works.",
    roles=_OF_WORKER,
)
LEASES = Metric(
    name="mpiboot_leases",
    kind="gauge",
    text="Launchers that hold this worker.",
    roles=_OF_WORKER,
)
SSHD_RESTARTS = Metric(
    name="mpiboot_sshd_restarts_total",
    kind="counter",
    text="How often sshd was started again.",
    roles=_OF_WORKER,
)
SSHD_REJECTED = Metric(
    name="mpiboot_sshd_rejected_logins_total",
    kind="counter",
    text="Logins that sshd refused.",
    roles=_OF_WORKER,
)


def every_metric() -> list[Metric]:
    """List all metrics in the order of this table."""
    return [one for one in globals().values() if isinstance(one, Metric)]


def markdown() -> str:
    """Render the table of all metrics for the documentation."""
    lines = ["| metric | kind | labels | of | meaning |", "|---|---|---|---|---|"]
    for metric in every_metric():
        cells = (
            f"`{metric.name}`",
            metric.kind,
            ", ".join(f"`{label}`" for label in metric.labels),
            ", ".join(metric.roles),
            metric.text,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
