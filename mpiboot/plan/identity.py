"""Which of the hosts is this very container, so that nobody asks it over ssh."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from mpiboot.model.facts import Facts
from mpiboot.model.hosts import is_address
from mpiboot.model.record import dataclass

_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, kw_only=True)
class Own:
    """What this container is called, and what it has."""

    hostname: str
    addresses: tuple[str, ...]
    facts: Facts


class Nearness(enum.Enum):
    """What a name alone tells: here, elsewhere, or here unless its address says otherwise."""

    HERE = "here"
    LIKELY = "likely"
    ELSEWHERE = "elsewhere"


def by_name(name: str, own: Own) -> Nearness:
    """Judge a host by its name.

    A full name whose first label is our hostname is most likely ours, and our own DNS record may
    be late or missing; but a pod of another Service may share the label, so an address decides
    where there is one.
    """
    lower, hostname = name.lower(), own.hostname.lower()
    if lower in (*_LOCAL, hostname) or name in own.addresses:
        return Nearness.HERE
    labelled = not is_address(name) and lower.split(".", 1)[0] == hostname.split(".", 1)[0]
    return Nearness.LIKELY if labelled else Nearness.ELSEWHERE


def by_address(addresses: Sequence[str], own: Own) -> bool:
    """Tell whether one of a host's addresses is ours."""
    return any(address in own.addresses for address in addresses)
