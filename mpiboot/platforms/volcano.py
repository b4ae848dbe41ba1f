"""Volcano jobs: the plugins svc, env, ssh and mpi tell every pod the names of all tasks' pods.

Facts: volcano-sh/volcano, pkg/controllers/job/plugins. svc: VC_<TASK>_HOSTS is `pod.job,…` in the order
of the pods' numbers, and /etc/volcano/<task>.host has the same by lines; a task's name stands there
with `_` for `-`, and in capitals in a variable. The pod's name, which is its hostname, is
`job-task-number`. env: VC_TASK_INDEX, and VK_TASK_INDEX before it. mpi: MPI_HOST on the master only.
ssh: keys in ~/.ssh, where they are looked for anyway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.hosts import Host, Listed, Source, checked_name
from mpiboot.model.record import dataclass
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "Volcano"
_DIRECTORY = "/etc/volcano"
_VARIABLE = re.compile(r"VC_(.+)_HOSTS")
_INDEXES = ("VC_TASK_INDEX", "VK_TASK_INDEX")
_MPI_HOST = "MPI_HOST"
VARIABLES = ("VC_*", *_INDEXES, _MPI_HOST)
_LEADERS = ("master", "launcher", "main", "head", "driver")
# The variables can be switched off for large jobs; a directory cannot be listed here, these are usual.
_USUAL = ("master", "worker", "mpimaster", "mpiworker", "launcher", "mpilauncher")
# A master with `restartPolicy: OnFailure` starts again in its pod, at last every 300 s.
_RETRY_GRACE_S = 360.0


@dataclass(frozen=True, kw_only=True)
class _Job:
    """The pods of each task, and this pod's task; None: it is in none of them."""

    tasks: Mapping[str, tuple[str, ...]]
    own: str | None


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need the lists of the tasks, for jobs without the variables."""
    if not any(name in env for name in _INDEXES) and _MPI_HOST not in env:
        return ()
    return tuple(f"{_DIRECTORY}/{task}.host" for task in _USUAL)


def identify(around: Surroundings) -> Identity | None:
    """Tell the task that leads from those that work.

    Raises:
        ConfigError: a list has something in it that is no host.
    """
    job = _job(around)
    if job is None:
        return None
    if around.env.get(_MPI_HOST):
        return Identity(role="launcher", why=f"{_MPI_HOST} is set, on the master only")
    leader = _leader(job)
    if job.own is None or leader is None:
        return None
    if len(job.tasks) == 1:
        first = _is(job.tasks[leader][0], around.hostname)
        role, which = ("launcher", "the first") if first else ("worker", "not the first")
        return Identity(role=role, why=f"this is {which} pod of task {leader}, the only one")
    if job.own == leader:
        return Identity(role="launcher", why=f"this is the pod of task {leader}")
    return Identity(role="worker", why=f"this is a pod of task {job.own}, which {leader} leads")


def source(around: Surroundings) -> Source | None:
    """List the pods that work; a job of one task works in its first pod, too.

    Raises:
        ConfigError: a list has something in it that is no host.
    """
    job = _job(around)
    if job is None:
        return None
    named = around.env.get(_MPI_HOST)
    if named:
        return _listed(_names(named, _MPI_HOST), around.hostname)
    leader = _leader(job) or job.own  # who asks leads, where only MPIBOOT_ROLE says who does
    rest = [pods for task, pods in job.tasks.items() if task != leader or len(job.tasks) == 1]
    pods = tuple(pod for task in rest for pod in task)
    return _listed(pods, around.hostname) if leader is not None and pods else None


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Let workers wait for a master that starts again in its pod."""
    if _job(around) is None:
        return {}
    why = "a master with restartPolicy OnFailure starts again, at last every 300 s"
    return {
        "failure_is_final": Suggestion(value=False, why=why),
        "retry_grace_s": Suggestion(value=_RETRY_GRACE_S, why=why),
    }


def _job(around: Surroundings) -> _Job | None:
    env = around.env
    tasks: dict[str, tuple[str, ...]] = {}
    for name in sorted(env):
        found = _VARIABLE.fullmatch(name)
        if found and env[name]:
            tasks[found[1].lower()] = _names(env[name], name)
    for task in _USUAL:
        text = around.files.get(f"{_DIRECTORY}/{task}.host", "")
        if text.strip():
            tasks.setdefault(task, _names(text, f"{_DIRECTORY}/{task}.host"))
    if not tasks and not (env.get(_MPI_HOST) and any(name in env for name in _INDEXES)):
        return None
    own = next(
        (task for task, pods in tasks.items() if any(_is(pod, around.hostname) for pod in pods)),
        None,
    )
    return _Job(tasks=tasks, own=own)


def _leader(job: _Job) -> str | None:
    """Tell which task leads: the only one; one called so; of two, the one with a single pod."""
    if len(job.tasks) == 1:
        return next(iter(job.tasks))
    single = [task for task, pods in job.tasks.items() if len(pods) == 1]
    called = [task for task in single if any(word in task for word in _LEADERS)]
    if len(called) == 1:
        return called[0]
    working = [task for task in single if "worker" not in task]
    return working[0] if len(job.tasks) == 2 and len(working) == 1 else None


def _listed(pods: tuple[str, ...], hostname: str) -> Listed:
    return Listed(hosts=tuple(Host(name=pod, here=_is(pod, hostname)) for pod in pods))


def _is(pod: str, hostname: str) -> bool:
    return bool(hostname) and pod.split(".", 1)[0].lower() == hostname.split(".", 1)[0].lower()


def _names(text: str, where: str) -> tuple[str, ...]:
    words = text.replace(",", " ").split()
    try:
        return tuple(dict.fromkeys(checked_name(word) for word in words))
    except ValueError as fault:
        raise ConfigError(f"{where}: {fault}", hint="Volcano sets it") from fault
