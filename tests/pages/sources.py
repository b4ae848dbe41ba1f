"""Who passes on what others have put into words, and where these words are made.

A function, constant or class stands here as `module:name`, a module without `mpiboot.`; a method under
its own name. `FROM_OUTSIDE` marks words that are no program's of ours: of the system, of sshd, of ssh.
"""

from __future__ import annotations

FROM_OUTSIDE = "outside"

_HOSTS = ("model.hosts:checked_name", "model.hosts:_add", "model.hosts:_host", "model.hosts:_option",
          "model.hosts:_number", "model.hosts:_split_slots", "model.hostranges:expand")  # fmt: skip
# A failure of ours that is put into an outcome is a place of its own, where it was raised.
_OURS: tuple[str, ...] = ()

PASSED: dict[str, tuple[str, ...]] = {
    "cli.byrole:auto": ("cli.byrole:auto",),
    "cli.byrole:as_role": ("model.redacted:remark",),
    "link.client:_failed": (FROM_OUTSIDE,),
    "link.client:_broken": ("link.client:_greet", "link.client:_plain"),
    "link.wrap.libraries:check": ("link.wrap.libraries:check",),
    "link.wrap.options:_enter": ("link.wrap.options:_enter",),
    "link.wrap.start:_fork": ("link.wrap.start:_fork",),
    "link.wrap.start:_explain": ("link.wrap.start:_explain",),
    "local.enter:call": (FROM_OUTSIDE,),
    "model.flags:error": ("model.flags:parse",),
    "model.hosts:_listed": _HOSTS,
    "model.options:resolve": (
        "model.options:resolve", "model.options:_from_env", "model.options:_from_file",
        "model.yamlfile:load", "model.yamlfile:compose_node",
    ),
    "plan.announcing:take": ("plan.announcing:_wrong",),
    "plan.gather:decide": ("plan.gather:Reach",),
    "plan.hooks:fault_of": ("plan.hooks:text",),
    "plan.launch:_call": (
        "mpi.openmpi:unsupported", "mpi.hydra:unsupported", "mpi.mpich:unsupported", "mpi.intelmpi:unsupported",
    ),
    "plan.layout:check_names": ("mpi.hydra:check_names",),
    "plan.loss:explain": ("roles.fence:_superseded", "link.prompt:FLOODS", "link.client:_deliver"),
    "plan.rankenv:_decide": ("plan.rankenv:_hindrance",),
    "plan.verdict:_losses": ("plan.daemons:DIED",),
    "plan.verdict:_halted": ("plan.verdict:_halted",),
    "plan.verdict:of_error": _OURS,
    "platforms.nodelist:hosts": _HOSTS,
    "platforms.sagemaker:_unreadable": ("platforms.sagemaker:_cluster", "platforms.sagemaker:_checked"),
    "platforms.volcano:_names": _HOSTS,
    "report.publish:_do": ("roles.reporting:publish", "roles.reporting:_metrics_duties", "report.push:_put"),
    "report.terminal.document:_outcome": _OURS,
    "report.terminal.document:_failure": _OURS,
    "roles.agent:_run": _OURS,
    "link.control:_read": _OURS,
    "roles.asking:_run": ("link.control:converse",),
    "roles.asking:_last": _OURS,
    "roles.asking:_in_vain": ("roles.asking:_run", "roles.asking:_ask"),
    "roles.controlling:hear": _OURS,
    "roles.attempt:_not_ready": ("plan.limits:told",),
    "roles.attempt:_launch": ("plan.limits:memory_locked", "plan.limits:shared_memory",
                              "plan.limits:processes", "plan.limits:open_files"),
    "roles.finding:look": _OURS,
    "roles.gathering:run": _OURS,
    "roles.hooks:_after": ("plan.hooks:text",),
    "roles.install:install": ("plan.shims:_no_place",),
    "roles.install:_guarded": (FROM_OUTSIDE,),
    "roles.install:_lay_one": ("plan.mending:Lay",),
    "roles.installation:find": ("plan.program:mismatch",),
    "roles.launcher_view:settle": _OURS,
    "roles.reception:open": (FROM_OUTSIDE,),
    "roles.serving:_prove_login": (FROM_OUTSIDE,),
    "roles.shim:become": (FROM_OUTSIDE,),
    "roles.stalling:run": ("plan.stall:words",),
    "roles.watching:_cut_off": ("plan.neighbours:told",),
    "roles.watching:_daemon_died": ("plan.daemons:DIED",),
    "roles.watching:_lose": _OURS,
    "roles.worker:_serve": _OURS,
    "roles.worker:_failure": _OURS,
    "runtime.keys:_in_child": _OURS,
}  # fmt: skip

# The verdict itself: what it says is put together in several steps.
_VERDICT = ("plan.verdict:_too_late", "plan.verdict:_by_evidence", "plan.verdict:_success",
            "plan.verdict:_halted", "plan.verdict:_with_memory", "plan.verdict:_plain",
            "plan.limits:explained", "runtime.sshd:_watch", "roles.finding:look",
            "link.server:_serve", "link.server:stop")  # fmt: skip

# What stands within another message, or is none: good news, and names of kinds.
PARTS = frozenset(
    (
        "no status in time", "other mpi", "no directory", "not executable", "on PATH", "not found",
        "it is no program for this machine; a script begins with #! and an interpreter",
        "its interpreter or loader is missing; install that, or correct the first line",
        "it is a directory; name the program in it",
        "permission is denied; chmod +x it, and mount its file system without noexec",
        "…; run it by hand in this container",
        "not tried yet", "ready (plain sshd)", "ready (rsh agent)",
        "… ranks with … GPUs", "MPI with … ranks", "rank … on …", "some hosts", "cannot be executed",
        "was not found", "the job succeeded", "everything is prepared", "the job is over (code …)",
        "is there", "laid; the original lies aside",
        "laid anew: an upgrade had put another program in its place",
        "… has … addresses", "… names … hosts", "it said nothing", "yours", "yours, but …", "yours, but not set here",
        "[rank … on …] …", "the job is paused", "exit …: …", "rank … on …: …",
    )
)  # fmt: skip

# What those hear who ask: by `mpiboot probe`, /readyz, run, pause and resume.
_ANSWERS = ("roles.probe:_ask", "roles.probe:NOBODY", "roles.worker:_become_ready",
            "link.control:refuse_all")  # fmt: skip

SOURCES = frozenset(
    {one for made in PASSED.values() for one in made if one != FROM_OUTSIDE}
    | set(_VERDICT)
    | set(_ANSWERS)
)
