"""SkyPilot: every node runs the same command and knows the addresses of all, its rank, its GPUs.

Facts: SkyPilot documentation, "Distributed Multi-Node Jobs". SKYPILOT_NODE_IPS has one address a line,
the head's first; the command runs on the node itself, beside the node's own sshd.
"""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.model.hosts import Source
from mpiboot.model.settings import Settings
from mpiboot.platforms import nodelist
from mpiboot.platforms.nodelist import Nodes
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "SkyPilot"
_ADDRESSES = "SKYPILOT_NODE_IPS"
_RANK = "SKYPILOT_NODE_RANK"
_GPUS = "SKYPILOT_NUM_GPUS_PER_NODE"
VARIABLES = (_ADDRESSES, _RANK, _GPUS)


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need no file."""
    return ()


def identify(around: Surroundings) -> Identity | None:
    """Be the launcher on the head, a worker on the other nodes."""
    nodes = _nodes(around)
    return nodes.identity(NAME) if nodes is not None else None


def source(around: Surroundings) -> Source | None:
    """List the nodes in the order of their ranks."""
    nodes = _nodes(around)
    return nodes.listed() if nodes is not None else None


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Keep away from the node's own sshd; take the GPUs that the task asked for as slots."""
    if _nodes(around) is None:
        return {}
    return {
        **nodelist.shared_node("the node's own sshd has port 22"),
        **nodelist.slots(around.env, _GPUS),
    }


def _nodes(around: Surroundings) -> Nodes | None:
    return nodelist.read(around.env, addresses=_ADDRESSES, rank=_RANK)
