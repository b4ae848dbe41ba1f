"""Which worker asks which other one whether ranks will reach each other, and what the answers mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

FAIL, WARN, OFF = "fail", "warn", "off"
# Parameters by which each MPI, UCX and libfabric keep to some ports: a firewall may allow just those.
_FIXED = re.compile(
    r"port_?(?:min|low|range)|dynamic_ipv[46]_ports|static_ipv[46]_ports", re.IGNORECASE
)


def policy(wanted: str, names: Iterable[str], *, rdma: bool, elastic: bool = False) -> str:
    """Decide what silence among workers leads to: FAIL, WARN or OFF.

    Args:
        wanted: the setting.
        names: of all parameters and variables that MPI is given.
        rdma: whether all workers have devices for it: ranks need no TCP then.
        elastic: whether the job goes on without a worker.
    """
    if wanted == FAIL and (rdma or elastic or any(_FIXED.search(name) for name in names)):
        return WARN
    return wanted


def ring(addresses: Mapping[str, str]) -> dict[str, str]:
    """Let each worker ask the next: all are asked once, however many there are.

    Args:
        addresses: of the workers, by their names, in the job's order.

    Returns:
        The name of the asked, by that of the asker; nobody asks at an address of its own.
    """
    names = list(addresses)
    pairs = zip(names, [*names[1:], *names[:1]])  # noqa: B905 - of the same length
    return {one: other for one, other in pairs if addresses[one] != addresses[other]}


def told(silent: Mapping[str, str], asked: Mapping[str, str]) -> str:
    """Put into words that workers are cut off from each other; empty where none is.

    A refusal is an answer: who closes a port still lets packets through. Silence is what firewalls,
    security groups and network policies make of a port that they do not allow.

    Args:
        silent: why, by the askers who had no answer.
        asked: whom they asked.
    """
    if not silent:
        return ""
    first = next(name for name in asked if name in silent)  # in the job's order
    more = f", and {len(silent) - 1} more" if len(silent) > 1 else ""
    return (
        f"{first} does not reach {asked[first]}, while the port of ssh is open: {silent[first]}{more}."
        " Ranks connect to each other at random ports and hang where a firewall or a network policy"
        " forbids it: allow all TCP ports among workers, or fix MPI's to a range that is allowed;"
        " --port-check warn lets ranks that need none of this run"
    )
