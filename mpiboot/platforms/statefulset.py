"""StatefulSet: a hostname that ends with the pod's number, and a headless Service as subdomain.

Pod 0 is launcher and worker, unless a role is said; or the launcher is another pod, a Job's as a
rule, that is told the StatefulSet's name. It guesses most of all, and is asked last.
"""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.model import podnames, zone
from mpiboot.model.hosts import Source
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "StatefulSet"
VARIABLES: tuple[str, ...] = ()  # the hostname tells


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need what tells the Service."""
    return (zone.HOSTS, zone.RESOLV_CONF)


def identify(around: Surroundings) -> Identity | None:
    """Make pod 0 the launcher, or whoever is told the name of another StatefulSet."""
    pods, found = around.settings.pods, podnames.numbered(around.hostname)
    if pods and (found is None or found[0] != pods):
        return Identity(role="launcher", why=f"the workers are the pods of {pods}")
    if found is None or not _own_service(around):
        return None
    base, index = found
    why = f"the hostname is {base}-{index}, in Service {_own_service(around)}"
    guessed = not (pods or around.settings.workers)
    return Identity(role="worker" if index else "launcher", why=why, guessed=guessed)


def source(around: Surroundings) -> Source | None:
    """Name the pods by their numbers.

    Raises:
        ConfigError: how many there are, or their Service, is not told.
    """
    settings, found = around.settings, podnames.numbered(around.hostname)
    if settings.hosts or settings.hostfile:
        return None
    service = settings.service or _own_service(around)
    if not settings.pods and (found is None or not service):
        return None
    base = settings.pods or (found[0] if found else "")
    count = podnames.count(settings, base)
    labels = (f"{base}-{index}" for index in range(count))
    return podnames.listed(labels, podnames.published(service, base), around.hostname)


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:  # noqa: ARG001 - the Protocol's shape
    """Suggest nothing: pods of many other controllers look the same."""
    return {}


def _own_service(around: Surroundings) -> str:
    texts = (around.files.get(path, "") for path in (zone.HOSTS, zone.RESOLV_CONF))
    return zone.own_service(around.hostname, *texts)
