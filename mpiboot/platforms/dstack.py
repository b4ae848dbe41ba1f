"""dstack, distributed tasks: every node runs the same commands and knows the addresses of all.

Facts: dstack documentation, "Environment variables" and "Distributed tasks". DSTACK_NODES_IPS has one
address a line, the master's first. Containers use the host's network, whose sshd has port 22;
dstack's own sshd in the container has 10022.
"""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.model.hosts import Source
from mpiboot.model.settings import Settings
from mpiboot.platforms import nodelist
from mpiboot.platforms.nodelist import Nodes
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "dstack"
_ADDRESSES = "DSTACK_NODES_IPS"
_RANK = "DSTACK_NODE_RANK"
_GPUS = "DSTACK_GPUS_PER_NODE"
VARIABLES = (_ADDRESSES, _RANK, _GPUS)


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need no file."""
    return ()


def identify(around: Surroundings) -> Identity | None:
    """Be the launcher on the master node, a worker on the others."""
    nodes = _nodes(around)
    return nodes.identity(NAME) if nodes is not None else None


def source(around: Surroundings) -> Source | None:
    """List the nodes in the order of their ranks."""
    nodes = _nodes(around)
    return nodes.listed() if nodes is not None else None


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Keep away from the host's sshd; take the GPUs of a node as slots."""
    if _nodes(around) is None:
        return {}
    return {
        **nodelist.shared_node("the host's sshd has port 22 of the network that tasks share"),
        **nodelist.slots(around.env, _GPUS),
    }


def _nodes(around: Surroundings) -> Nodes | None:
    return nodelist.read(around.env, addresses=_ADDRESSES, rank=_RANK)
