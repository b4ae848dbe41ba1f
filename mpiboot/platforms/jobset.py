"""JobSet: replicated Jobs whose pods are called JOBSET-REPLICATEDJOB-JOB-POD in one Service.

The controller puts names and numbers into labels, not into the environment: a pod template hands
them on under the names below (docs/kubernetes.md). JOBSET_NAME alone is enough: the hostname holds
the rest. A pod that is told nothing at all is one of an Indexed Job.
Source: kubernetes-sigs/jobset, api/jobset/v1alpha2/jobset_types.go and its network example.
"""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model import podnames, zone
from mpiboot.model.counting import counted
from mpiboot.model.hosts import Source
from mpiboot.model.record import dataclass
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "JobSet"
SET = "JOBSET_NAME"
_REPLICATED = ("REPLICATED_JOB_NAME", "JOBSET_REPLICATED_JOB_NAME")
_JOB = ("JOB_INDEX", "JOBSET_JOB_INDEX")
_POD = ("JOB_COMPLETION_INDEX",)
_REPLICAS = ("REPLICATED_JOB_REPLICAS", "JOBSET_REPLICATED_JOB_REPLICAS")
_ALL_REPLICAS = ("GLOBAL_REPLICAS", "JOBSET_GLOBAL_REPLICAS")
VARIABLES = (SET, *_REPLICATED, *_JOB, *_POD, *_REPLICAS, *_ALL_REPLICAS)
_LAUNCHERS = ("launcher", "master")
_RETRY_GRACE_S = 600.0


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where in its JobSet a pod is."""

    name: str
    replicated: str
    job: int
    pod: int

    @property
    def label(self) -> str:
        """The pod's name in the set, which the hostname is not on its node's network."""
        return f"{self.name}-{self.replicated}-{self.job}-{self.pod}"

    @property
    def first(self) -> bool:
        return self.job == self.pod == 0

    def __str__(self) -> str:
        return f"{self.replicated}-{self.job}-{self.pod} of JobSet {self.name}"


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need what tells the Service."""
    return (zone.HOSTS, zone.RESOLV_CONF)


def identify(around: Surroundings) -> Identity | None:
    """Make the launcher's replicated Job the launcher; without one, the first pod.

    Where the numbers say that there are other replicated Jobs, one that is called otherwise than a
    launcher holds workers.
    """
    place = _place(around)
    if place is None:
        return None
    pods = around.settings.pods
    if place.replicated in _LAUNCHERS or (pods and pods != place.replicated):
        return Identity(role="launcher", why=f"this pod is {place}")
    alone = _number(around, _REPLICAS) == _number(around, _ALL_REPLICAS)
    role = "launcher" if place.first and alone else "worker"
    return Identity(role=role, why=f"this pod is {place}")


def source(around: Surroundings) -> Source | None:
    """Name the pods of the workers' replicated Job, in order of job and pod.

    Raises:
        ConfigError: their number or their Job is not told.
    """
    place, settings = _place(around), around.settings
    if place is None or settings.hosts or settings.hostfile:
        return None
    base = settings.pods or place.replicated
    if place.replicated in _LAUNCHERS and not settings.pods:
        raise ConfigError(
            f"this pod is {place}, and nothing tells which replicated Job holds the workers",
            hint="name it with --pods NAME or MPIBOOT_PODS, and their number with --workers N",
        )
    count = podnames.count(settings, f"{base} of JobSet {place.name}")
    jobs = (_number(around, _REPLICAS) or 1) if base == place.replicated else 1
    if count % jobs:
        raise ConfigError(
            f"{counted(count, 'pod')} cannot be shared evenly by {counted(jobs, 'Job')} of {base}"
        )
    labels = (
        f"{place.name}-{base}-{job}-{pod}" for job in range(jobs) for pod in range(count // jobs)
    )
    return podnames.listed(labels, _service(around, place), place.label)


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Expect a failed pod to be made anew, as each Job of the set does up to backoffLimit times."""
    if _place(around) is None:
        return {}
    why = "a Job makes a failed pod anew, up to 360 s later"
    return {
        "failure_is_final": Suggestion(value=False, why=why),
        "retry_grace_s": Suggestion(value=_RETRY_GRACE_S, why=why),
    }


def _place(around: Surroundings) -> _Place | None:
    name = around.env.get(SET, "").lower()
    if not name:
        return None
    replicated, job, pod = _from_hostname(around.hostname.lower(), name)
    replicated = _text(around, _REPLICATED).lower() or replicated
    job = job if (told := _number(around, _JOB)) is None else told
    pod = pod if (told := _number(around, _POD)) is None else told
    if not replicated or job is None or pod is None:
        return None
    return _Place(name=name, replicated=replicated, job=job, pod=pod)


def _from_hostname(hostname: str, name: str) -> tuple[str, int | None, int | None]:
    """Split JOBSET-REPLICATEDJOB-JOB-POD; a pod on its node's network has the node's name."""
    rest = hostname.removeprefix(f"{name}-")
    parts = rest.rsplit("-", 2)
    if rest == hostname or len(parts) != 3:
        return "", None, None
    return parts[0], podnames.number(parts[1]), podnames.number(parts[2])


def _service(around: Surroundings, place: _Place) -> str:
    """Tell the set's Service: it is called as the set is, unless the set says otherwise."""
    files_ = (around.files.get(path, "") for path in (zone.HOSTS, zone.RESOLV_CONF))
    return around.settings.service or zone.own_service(around.hostname, *files_) or place.name


def _text(around: Surroundings, names: tuple[str, ...]) -> str:
    return next((around.env[name] for name in names if around.env.get(name)), "")


def _number(around: Surroundings, names: tuple[str, ...]) -> int | None:
    return podnames.number(_text(around, names))
