"""Every metric, declared once."""

from __future__ import annotations

from mpiboot.model.spec import LAUNCHER, WORKER
from mpiboot.report.metrics import Metric

_OF_LAUNCHER = (LAUNCHER,)
_OF_WORKER = (WORKER,)

INFO = Metric(
    name="mpiboot_info",
    kind="gauge",
    text="Version and role of this agent.",
    example='{version="0.1.0",role="launcher"} 1',
    labels=("version", "role"),
)
STAGE = Metric(
    name="mpiboot_stage",
    kind="gauge",
    text="1 for the stage that the agent is in, 0 for the others.",
    example='{stage="running"} 1',
    labels=("stage",),
)
STAGE_SECONDS = Metric(
    name="mpiboot_stage_seconds",
    kind="gauge",
    text="Time spent in each stage of this run so far, in seconds.",
    example='{stage="waiting"} 2.18',
    labels=("stage",),
)
PHASE = Metric(
    name="mpiboot_phase",
    kind="gauge",
    text="1 for the phase of now, as Kubernetes names phases, 0 for the others.",
    example='{phase="Running"} 1',
    labels=("phase",),
)
CONDITION = Metric(
    name="mpiboot_condition",
    kind="gauge",
    text="1 for the status of each condition of the status file, 0 for its other statuses.",
    example='{condition="Failed",status="False"} 1',
    labels=("condition", "status"),
)
EXIT_CODE = Metric(
    name="mpiboot_exit_code",
    kind="gauge",
    text="Exit code of this agent; absent before its end.",
    example="241",
)
FAULT = Metric(
    name="mpiboot_fault",
    kind="gauge",
    text="1 for who should act on the outcome (none: nobody), 0 for the others; absent before the end.",
    example='{fault="infrastructure"} 1',
    labels=("fault",),
)
FIRST_FAILURE = Metric(
    name="mpiboot_first_failure",
    kind="gauge",
    text="1, with the first rank that failed: rank, host, exit code or signal; absent without one.",
    example='{rank="1",host="train-worker-1",code="",signal="11"} 1',
    labels=("rank", "host", "code", "signal"),
)
END_TIME = Metric(
    name="mpiboot_end_time_seconds",
    kind="gauge",
    text="When this agent's outcome was known, in seconds since 1970; absent before.",
    example="1.7959392e+09",
)
ORPHANS = Metric(
    name="mpiboot_reaped_orphans_total",
    kind="counter",
    text="Orphaned processes that this agent has reaped.",
    example="0",
)

WORKERS_EXPECTED = Metric(
    name="mpiboot_workers_expected",
    kind="gauge",
    text="Workers that the job waits for; 0 while that is not known.",
    example="8",
    roles=_OF_LAUNCHER,
)
WORKERS_READY = Metric(
    name="mpiboot_workers_ready",
    kind="gauge",
    text="Workers on which a login works.",
    example="7",
    roles=_OF_LAUNCHER,
)
WORKERS = Metric(
    name="mpiboot_workers",
    kind="gauge",
    text="Workers in each phase.",
    example='{phase="pending"} 1',
    labels=("phase",),
    roles=_OF_LAUNCHER,
)
WORKER_WAIT = Metric(
    name="mpiboot_worker_wait_seconds",
    kind="gauge",
    text="How long each worker was waited for, in seconds; absent beyond 128 workers.",
    example='{worker="train-worker-1"} 2.18',
    labels=("worker",),
    roles=_OF_LAUNCHER,
)
LONGEST_WAIT = Metric(
    name="mpiboot_worker_wait_max_seconds",
    kind="gauge",
    text="How long the last worker that came was waited for, in seconds.",
    example="2.18",
    roles=_OF_LAUNCHER,
)
PROBE_FAILURES = Metric(
    name="mpiboot_probe_failures_total",
    kind="counter",
    text="Attempts to reach a worker that failed, by kind.",
    example='{kind="no_name"} 14',
    labels=("kind",),
    roles=_OF_LAUNCHER,
)
LEASES_HELD = Metric(
    name="mpiboot_leases_held",
    kind="gauge",
    text="Leases that this launcher holds.",
    example="8",
    roles=_OF_LAUNCHER,
)
LEASES_LOST = Metric(
    name="mpiboot_leases_lost_total",
    kind="counter",
    text="Leases that were lost, while waiting or while the job ran.",
    example="0",
    roles=_OF_LAUNCHER,
)
HEARTBEAT_AGE = Metric(
    name="mpiboot_heartbeat_age_max_seconds",
    kind="gauge",
    text="Silence of the worker that was heard longest ago, in seconds; 0 without leases.",
    example="2.9",
    roles=_OF_LAUNCHER,
)
ATTEMPTS = Metric(
    name="mpiboot_attempts_total",
    kind="counter",
    text="Attempts at the job, the first one included.",
    example="1",
    roles=_OF_LAUNCHER,
)
LAUNCH_RETRIES = Metric(
    name="mpiboot_launch_retries_total",
    kind="counter",
    text="Attempts that were made because a start-up failed before any rank ran.",
    example="0",
    roles=_OF_LAUNCHER,
)
RESTARTS = Metric(
    name="mpiboot_restarts_total",
    kind="counter",
    text="Attempts that were made because the job failed as a whole.",
    example="0",
    roles=_OF_LAUNCHER,
)
OOM_KILLS = Metric(
    name="mpiboot_oom_kills_total",
    kind="counter",
    text="Processes that the kernel killed for want of memory on the job's hosts, as workers testify.",
    example="0",
    roles=_OF_LAUNCHER,
)
PEAK_MEMORY = Metric(
    name="mpiboot_worker_peak_memory_bytes",
    kind="gauge",
    text="Peak memory of each worker's container, as it testifies; absent beyond 128 workers.",
    example='{worker="train-worker-1"} 6.1e+09',
    labels=("worker",),
    roles=_OF_LAUNCHER,
)
HIGHEST_PEAK = Metric(
    name="mpiboot_worker_peak_memory_max_bytes",
    kind="gauge",
    text="Peak memory of the worker that used most; absent before one has testified.",
    example="6.1e+09",
    roles=_OF_LAUNCHER,
)
JOB_DURATION = Metric(
    name="mpiboot_job_duration_seconds",
    kind="gauge",
    text="How long mpirun has run, in seconds.",
    example="1868",
    roles=_OF_LAUNCHER,
)
JOB_EXIT_CODE = Metric(
    name="mpiboot_job_exit_code",
    kind="gauge",
    text="Exit code of the job; absent before its end.",
    example="0",
    roles=_OF_LAUNCHER,
)

READY = Metric(
    name="mpiboot_ready",
    kind="gauge",
    text="1 when a login works.",
    example="1",
    roles=_OF_WORKER,
)
LEASES = Metric(
    name="mpiboot_leases",
    kind="gauge",
    text="Launchers that hold this worker.",
    example="1",
    roles=_OF_WORKER,
)
SSHD_RESTARTS = Metric(
    name="mpiboot_sshd_restarts_total",
    kind="counter",
    text="How often sshd was started again.",
    example="0",
    roles=_OF_WORKER,
)
SSHD_REJECTED = Metric(
    name="mpiboot_sshd_rejected_logins_total",
    kind="counter",
    text="Logins that sshd refused.",
    example="3",
    roles=_OF_WORKER,
)
MEMORY_HELD = Metric(
    name="mpiboot_memory_working_set_bytes",
    kind="gauge",
    text="Memory of this container without idle file cache, as the kubelet counts it; absent where no cgroup tells.",
    example="5.9e+09",
    roles=_OF_WORKER,
)
MEMORY_LIMIT = Metric(
    name="mpiboot_memory_limit_bytes",
    kind="gauge",
    text="Memory that this container may use; absent without a limit.",
    example="8.589934592e+09",
    roles=_OF_WORKER,
)


def every_metric() -> list[Metric]:
    """List all metrics in the order of this table."""
    return [one for one in globals().values() if isinstance(one, Metric)]
