"""AWS Batch, multi-node parallel jobs: the children know the main node, and not the other way.

Facts: AWS Batch User Guide, "Environment variables" and "Job lifecycle for MNP jobs". Each node has its
number; a child has the main node's private IPv4 address. When the main node ends the job is over and
Batch stops the children; nothing happens when a child ends; each attempt has new nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.announced import MAX_NODES
from mpiboot.model.hosts import Source, is_address
from mpiboot.model.record import dataclass
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "AWS Batch"
_INDEX = "AWS_BATCH_JOB_NODE_INDEX"
_MAIN = "AWS_BATCH_JOB_MAIN_NODE_INDEX"
_COUNT = "AWS_BATCH_JOB_NUM_NODES"
_MAIN_ADDRESS = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"
VARIABLES = (_INDEX, _MAIN, _COUNT, _MAIN_ADDRESS)
_RETRY_GRACE_S = 10.0


@dataclass(frozen=True, kw_only=True)
class _Node:
    """This node's number, the main node's, and how many there are."""

    index: int
    main: int
    count: int


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need no file."""
    return ()


def identify(around: Surroundings) -> Identity | None:
    """Be the launcher on the main node, a worker on the others.

    Raises:
        ConfigError: the variables contradict each other.
    """
    node = _node(around.env)
    if node is None:
        return None
    if node.index == node.main:
        return Identity(role="launcher", why=f"node {node.index} of AWS Batch is the main node")
    return Identity(role="worker", why=f"node {node.index} of AWS Batch is a child of {node.main}")


def source(around: Surroundings) -> Source | None:  # noqa: ARG001 - the Protocol's shape
    """Say nothing: the main node's --hosts is suggested, and a user's own counts before it."""
    return None


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Let the children announce themselves to the main node, which runs ranks, too.

    Raises:
        ConfigError: the variables contradict each other, or a child does not know the main node.
    """
    node, settings = _node(around.env), around.settings
    if node is None:
        return {}
    told = {
        "failure_is_final": Suggestion(value=True, why="each attempt has new nodes"),
        "retry_grace_s": Suggestion(
            value=_RETRY_GRACE_S, why="the job is over with its main node, which never comes back"
        ),
    }
    if node.index != node.main:
        return {**told, **_child(node, around.env)}
    if not (settings.hostfile or settings.host_script):
        hosts = f"announce:{node.count}:{node.main}"
        told["hosts"] = Suggestion(value=hosts, why=f"{_COUNT} and {_MAIN}")
    return told


def _child(node: _Node, env: Mapping[str, str]) -> dict[str, Suggestion]:
    address = env.get(_MAIN_ADDRESS, "")
    if not is_address(address):
        raise ConfigError(
            f"{_MAIN_ADDRESS} is {address[:60]!r} on child node {node.index}, not an address",
            hint="AWS Batch sets it on children; name the main node with --announce-to",
        )
    return {
        "announce_to": Suggestion(value=address, why=_MAIN_ADDRESS),
        "announce_index": Suggestion(value=node.index, why=_INDEX),
    }


def _node(env: Mapping[str, str]) -> _Node | None:
    """Read this node's place; None on other platforms, and in jobs of one container."""
    if _INDEX not in env or _MAIN not in env:
        return None
    count = _number(env, _COUNT, MAX_NODES, least=1)
    return _Node(
        index=_number(env, _INDEX, count - 1), main=_number(env, _MAIN, count - 1), count=count
    )


def _number(env: Mapping[str, str], name: str, most: int, least: int = 0) -> int:
    text = env.get(name, "")
    if not (text.isascii() and text.isdigit() and least <= int(text[:9]) <= most):
        raise ConfigError(
            f"{name} is {text[:60]!r}, expected a number from {least} to {most}",
            hint="AWS Batch sets it; leave it out of the job definition",
        )
    return int(text)
