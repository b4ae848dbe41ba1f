"""Indexed Job: JOB_COMPLETION_INDEX, hostname JOB-INDEX, and a headless Service as subdomain.

Index 0 is launcher and worker. Source: kubernetes.io, "Job with Pod-to-Pod Communication".
"""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model import podnames, zone
from mpiboot.model.hosts import Source
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "Indexed Job"
INDEX = "JOB_COMPLETION_INDEX"
VARIABLES = (INDEX,)
_RETRY_GRACE_S = 600.0


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need what tells the Service."""
    return (zone.HOSTS, zone.RESOLV_CONF)


def identify(around: Surroundings) -> Identity | None:
    """Make index 0 the launcher; where the workers are another Job's pods, any index."""
    index = podnames.number(around.env.get(INDEX, ""))
    if index is None:
        return None
    base = _base(around)
    pods = around.settings.pods
    if pods and pods != base:
        return Identity(role="launcher", why=f"the workers are the pods of {pods}, not of {base}")
    guessed = not (pods or around.settings.workers)
    role = "worker" if index else "launcher"
    return Identity(role=role, why=f"{INDEX} is {index}", guessed=guessed)


def source(around: Surroundings) -> Source | None:
    """Name the pods of the Job by their indices.

    Raises:
        ConfigError: their number, base name or Service is not told.
    """
    settings = around.settings
    if podnames.number(around.env.get(INDEX, "")) is None or settings.hosts or settings.hostfile:
        return None
    base = settings.pods or _base(around)
    if not base:
        raise ConfigError(
            f"the hostname {around.hostname!r} does not end with the index: the Job's name is not told",
            hint="name the Job with --pods NAME or MPIBOOT_PODS",
        )
    texts = (around.files.get(path, "") for path in (zone.HOSTS, zone.RESOLV_CONF))
    told = settings.service or zone.own_service(around.hostname, *texts)
    count = podnames.count(settings, f"Job {base}")
    service = podnames.published(told, f"Job {base}")
    labels = (f"{base}-{index}" for index in range(count))
    return podnames.listed(labels, service, around.hostname)


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Expect a failed pod to be made anew, up to backoffLimit times."""
    if podnames.number(around.env.get(INDEX, "")) is None:
        return {}
    why = "the Job makes a failed pod anew, up to 360 s later"
    return {
        "failure_is_final": Suggestion(value=False, why=why),
        "retry_grace_s": Suggestion(value=_RETRY_GRACE_S, why=why),
    }


def _base(around: Surroundings) -> str:
    """Return the Job's name; empty on the node's network, where the hostname is the node's."""
    index = podnames.number(around.env.get(INDEX, ""))
    found = podnames.numbered(around.hostname)
    return found[0] if found is not None and found[1] == index else ""
