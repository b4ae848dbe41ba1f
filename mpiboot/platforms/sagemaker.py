"""SageMaker training jobs: resourceconfig.json names all hosts, this one, and the interface.

Facts: SageMaker Developer Guide, "How Amazon SageMaker provides training information"; the training
toolkits' SM_ variables carry the same. The first host leads, and runs ranks as all others do. Its
name is not the container's hostname.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.hosts import Host, Listed, Source, checked_name
from mpiboot.model.record import dataclass
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "SageMaker"
_FILE = "/opt/ml/input/config/resourceconfig.json"
_HOSTS, _CURRENT, _INTERFACE = "SM_HOSTS", "SM_CURRENT_HOST", "SM_NETWORK_INTERFACE_NAME"
VARIABLES = (_HOSTS, _CURRENT, _INTERFACE)
_RETRY_GRACE_S = 10.0
_NUMBERED = re.compile(r"(.*?)([0-9]{0,9})")


@dataclass(frozen=True, kw_only=True)
class _Cluster:
    """All hosts in order, this one, the interface between them, and where that stands."""

    hosts: tuple[str, ...]
    current: str
    interface: str
    where: str


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need SageMaker's description of the cluster."""
    return (_FILE,)


def identify(around: Surroundings) -> Identity | None:
    """Be the launcher on the first host, a worker on the others.

    Raises:
        ConfigError: the description cannot be read.
    """
    cluster = _cluster(around)
    if cluster is None:
        return None
    first = cluster.hosts[0]
    if cluster.current == first:
        return Identity(role="launcher", why=f"{first} is the first host of {cluster.where}")
    why = f"{cluster.current} is not the first host of {cluster.where}, {first} is"
    return Identity(role="worker", why=why)


def source(around: Surroundings) -> Source | None:
    """List all hosts, this one among them.

    Raises:
        ConfigError: the description cannot be read.
    """
    cluster = _cluster(around)
    if cluster is None:
        return None
    current = cluster.current
    return Listed(hosts=tuple(Host(name=name, here=name == current) for name in cluster.hosts))


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Name the interface; a training job that failed is not tried again on the same hosts.

    Raises:
        ConfigError: the description cannot be read.
    """
    cluster = _cluster(around)
    if cluster is None:
        return {}
    told = {
        "failure_is_final": Suggestion(value=True, why="a container is never started again"),
        "retry_grace_s": Suggestion(
            value=_RETRY_GRACE_S, why="the first host is never started again"
        ),
    }
    if cluster.interface:
        told["interface"] = Suggestion(value=cluster.interface, why=cluster.where)
    return told


def _cluster(around: Surroundings) -> _Cluster | None:
    """Read the description, from the file or else from the toolkits' variables."""
    env, text = around.env, around.files.get(_FILE)
    if text is not None:
        data = _json(text, _FILE)
        if not isinstance(data, dict):
            raise _unreadable(_FILE, f"expected an object, found {type(data).__name__}")
        interface = data.get("network_interface_name") or ""
        return _checked(data.get("hosts"), data.get("current_host"), interface, _FILE)
    if _HOSTS in env and _CURRENT in env:
        hosts = _json(env[_HOSTS], _HOSTS)
        return _checked(hosts, env[_CURRENT], env.get(_INTERFACE, ""), _HOSTS)
    return None


def _json(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise _unreadable(where, str(fault)) from fault


def _checked(hosts: object, current: object, interface: object, where: str) -> _Cluster:
    if not isinstance(hosts, list) or not hosts:
        raise _unreadable(where, "it names no hosts")
    if not isinstance(interface, str):
        raise _unreadable(where, "the network interface is not a text")
    try:
        names = tuple(sorted({checked_name(str(one)) for one in hosts}, key=_natural))
    except ValueError as fault:
        raise _unreadable(where, str(fault)) from fault
    if not isinstance(current, str) or current not in names:
        raise _unreadable(where, f"the current host {str(current)[:60]!r} is not one of the hosts")
    return _Cluster(hosts=names, current=current, interface=interface, where=where)


def _natural(name: str) -> tuple[str, int]:
    """Order algo-2 before algo-10, which SageMaker's own order does not."""
    found = _NUMBERED.fullmatch(name)
    return (found[1], int(found[2] or 0)) if found else (name, 0)


def _unreadable(where: str, why: str) -> ConfigError:
    return ConfigError(
        f"{where}: {why}", hint="SageMaker writes it; outside of SageMaker name the workers"
    )
