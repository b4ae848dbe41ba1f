"""Azure Batch, multi-instance tasks: a coordination command on all nodes, then the job on one of them.

Facts: Azure Batch documentation, "Runtime environment variables" and "multi-instance tasks".
AZ_BATCH_HOST_LIST is `a,b`, AZ_BATCH_NODE_LIST is `a;b`, AZ_BATCH_MASTER_NODE is `a:port`; tasks use
the node's network, beside the node's own sshd.
"""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.hosts import Source
from mpiboot.model.settings import Settings
from mpiboot.platforms import nodelist
from mpiboot.platforms.nodelist import Nodes
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "Azure Batch"
_HOSTS = "AZ_BATCH_HOST_LIST"
_NODES = "AZ_BATCH_NODE_LIST"
_IS_MASTER = "AZ_BATCH_IS_CURRENT_NODE_MASTER"
_MASTER = "AZ_BATCH_MASTER_NODE"
VARIABLES = (_HOSTS, _NODES, _IS_MASTER, _MASTER)


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need no file."""
    return ()


def identify(around: Surroundings) -> Identity | None:
    """Be the launcher on the master node, a worker on the others.

    Raises:
        ConfigError: the variables contradict each other.
    """
    if _IS_MASTER not in around.env:
        return None
    master = _is_master(around.env)
    role = "launcher" if master else "worker"
    return Identity(role=role, why=f"{_IS_MASTER} is {around.env[_IS_MASTER]}")


def source(around: Surroundings) -> Source | None:
    """List the nodes in Batch's order.

    Raises:
        ConfigError: the variables contradict each other.
    """
    nodes = _nodes(around.env)
    return nodes.listed() if nodes is not None else None


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Keep away from the node's own sshd."""
    if _IS_MASTER not in around.env:
        return {}
    port = nodelist.shared_node("the node's own sshd has port 22 of the network that tasks share")
    return {"ssh_port": port["ssh_port"]}


def _nodes(env: Mapping[str, str]) -> Nodes | None:
    name = _HOSTS if env.get(_HOSTS) else _NODES
    if _IS_MASTER not in env or not env.get(name):
        return None
    hosts = nodelist.hosts(env[name], name)
    if not _is_master(env):
        return Nodes(hosts=hosts, own=None)
    address = env.get(_MASTER, "").rpartition(":")[0] or env.get(_MASTER, "")
    return Nodes(hosts=hosts, own=hosts.index(address) if address in hosts else None)


def _is_master(env: Mapping[str, str]) -> bool:
    text = env[_IS_MASTER].lower()
    if text not in ("true", "false"):
        raise ConfigError(
            f"{_IS_MASTER} is {env[_IS_MASTER][:60]!r}, expected true or false",
            hint="Azure Batch sets it; leave it out of the task",
        )
    return text == "true"
