"""LeaderWorkerSet: a leader and its workers, told of size, index and the leader's name.

The leader is launcher and worker. Source: kubernetes-sigs/lws, pkg/utils/pod/pod_utils.go: pods of a
group are called GROUP and GROUP-1, GROUP-2, … in one headless Service, and LWS_LEADER_ADDRESS is
GROUP.SERVICE.NAMESPACE. Before v0.6 there is no LWS_WORKER_INDEX; the hostname ends with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot.errors import ConfigError
from mpiboot.model import podnames
from mpiboot.model.hosts import Source, is_address
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "LeaderWorkerSet"
LEADER, SIZE, INDEX = "LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"
VARIABLES = (LEADER, SIZE, INDEX)


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need no file."""
    return ()


def identify(around: Surroundings) -> Identity | None:
    """Make the leader the launcher."""
    if not around.env.get(LEADER):
        return None
    index = podnames.number(around.env.get(INDEX, ""))
    if index is not None:
        return Identity(role="worker" if index else "launcher", why=f"{INDEX} is {index}")
    leads = around.hostname.lower() == _leader(around).partition(".")[0]
    why = f"the hostname is {around.hostname}, and {LEADER} is {_leader(around)}"
    return Identity(role="launcher" if leads else "worker", why=why)


def source(around: Surroundings) -> Source | None:
    """Name the leader and as many workers as the group has.

    Raises:
        ConfigError: the leader has no name, or the size is no number.
    """
    settings = around.settings
    if not around.env.get(LEADER) or settings.hosts or settings.hostfile:
        return None
    leader = _leader(around)
    group, _, service = leader.partition(".")
    if is_address(leader) or not service:
        raise ConfigError(
            f"{LEADER} is {leader!r}: a leader without a name has workers without names",
            hint="give the group its ordinal names, or name the workers with --hosts",
        )
    text = around.env.get(SIZE, "")
    size = settings.workers or podnames.number(text)
    if not size:
        raise ConfigError(f"{SIZE} is {text!r}, not a number", hint="say it with --workers N")
    labels = [group, *(f"{group}-{index}" for index in range(1, size))]
    return podnames.listed(labels, service, _own(around, labels))


def _own(around: Surroundings, labels: Sequence[str]) -> str:
    """Tell this pod's label: by its index, for on its node's network the hostname is the node's."""
    index = podnames.number(around.env.get(INDEX, ""))
    return labels[index] if index is not None and index < len(labels) else around.hostname


def _leader(around: Surroundings) -> str:
    return around.env[LEADER].strip().rstrip(".").lower()


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Keep workers: a worker that leaves is started again, and its whole group with it."""
    if not around.env.get(LEADER):
        return {}
    why = "a container that ends is started again, and the whole group with it"
    return {"workers_leave": Suggestion(value="never", why=why)}
