"""Names of numbered pods: a base, a number, and the headless Service that publishes them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mpiboot.errors import ConfigError
from mpiboot.model.hosts import Host, Listed
from mpiboot.model.settings import Settings

# No more digits: the random end of a Job's or Deployment's pod has five characters, which now and
# then are digits all.
_NUMBERED = re.compile(r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)-(0|[1-9][0-9]{0,3})", re.ASCII)


def numbered(hostname: str) -> tuple[str, int] | None:
    """Split a pod's hostname into its base and its number; None where it has none."""
    found = _NUMBERED.fullmatch(hostname.lower())
    return (found.group(1), int(found.group(2))) if found else None


def number(text: str) -> int | None:
    """Read a number that a platform gives; None where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def count(settings: Settings, what: str) -> int:
    """Return how many pods take part.

    Raises:
        ConfigError: nothing tells.
    """
    if settings.workers:
        return settings.workers
    raise ConfigError(
        f"nothing tells how many pods of {what} take part",
        hint="say it with --workers N or MPIBOOT_WORKERS; index 0 counts where ranks run in it, too",
    )


def published(service: str, what: str) -> str:
    """Return the headless Service of the pods.

    Raises:
        ConfigError: nothing tells.
    """
    if service:
        return service
    raise ConfigError(
        f"nothing tells under which Service the pods of {what} have names",
        hint="make a headless Service, set `subdomain: NAME` in the pod template, or name it with"
        " --service NAME",
    )


def listed(labels: Iterable[str], service: str, own: str) -> Listed:
    """List pods by their names; this one needs none, for its record may be late or never come.

    Args:
        labels: the pods' labels, in order.
        service: the headless Service, with its namespace where that is another.
        own: this pod's label: its hostname, unless it is on its node's network.
    """
    mine = own.lower()
    return Listed(
        hosts=tuple(
            Host(name=label, here=True) if label == mine else Host(name=f"{label}.{service}")
            for label in labels
        )
    )
