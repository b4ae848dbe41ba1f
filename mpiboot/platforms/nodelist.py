"""What platforms share that give each node a list of all: reading the list, and one's place in it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.counting import counted
from mpiboot.model.hosts import Host, Listed, Source, checked_name
from mpiboot.model.record import dataclass
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

# Some systems write the two characters \n where others have a new line.
_BETWEEN = re.compile(r"(?:\\n|[\s,;])+")
SHARED_PORT = 2222
_RETRY_GRACE_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The nodes of a job; the first one leads.

    Attributes:
        hosts: their names or addresses, in order.
        own: this node's place; None: not known.
    """

    hosts: tuple[str, ...]
    own: int | None

    def identity(self, platform: str) -> Identity:
        """Tell the role: the first node is the launcher."""
        role = "launcher" if self.own == 0 else "worker"
        return Identity(role=role, why=f"node {self.own} of {len(self.hosts)} of {platform}")

    def listed(self) -> Listed:
        """Return them as hosts; this very container needs no login."""
        return Listed(
            hosts=tuple(
                Host(name=name, here=number == self.own) for number, name in enumerate(self.hosts)
            )
        )


def read(env: Mapping[str, str], *, addresses: str, rank: str) -> Nodes | None:
    """Read the nodes from two variables; None where the platform does not set both.

    Args:
        env: the environment.
        addresses: name of the variable with all nodes.
        rank: name of the variable with this node's number.

    Raises:
        ConfigError: they contradict each other.
    """
    if not env.get(addresses) or rank not in env:
        return None
    found = hosts(env[addresses], addresses)
    text = env[rank]
    if not (text.isascii() and text.isdigit() and int(text[:9]) < len(found)):
        raise ConfigError(
            f"{rank} is {text[:60]!r}, but {addresses} names {counted(len(found), 'node')}",
            hint=f"both are set by the platform; expected a number from 0 to {len(found) - 1}",
        )
    return Nodes(hosts=found, own=int(text))


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A platform that runs jobs on the nodes themselves and tells each one all it needs.

    Attributes:
        name: of the platform.
        addresses: name of the variable with all nodes.
        rank: name of the variable with this node's number.
        gpus: name of the variable with the GPUs of a node.
        port_22: who has that port there, in words.
    """

    name: str
    addresses: str
    rank: str
    gpus: str
    port_22: str

    @property
    def variables(self) -> tuple[str, ...]:
        """All of them."""
        return (self.addresses, self.rank, self.gpus)

    def files(self, settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG002 - the Protocol's shape
        """Need no file."""
        return ()

    def identify(self, around: Surroundings) -> Identity | None:
        """Be the launcher on the first node, a worker on the others."""
        nodes = self._nodes(around)
        return nodes.identity(self.name) if nodes is not None else None

    def source(self, around: Surroundings) -> Source | None:
        """List the nodes in the order of their ranks."""
        nodes = self._nodes(around)
        return nodes.listed() if nodes is not None else None

    def suggest(self, around: Surroundings) -> Mapping[str, Suggestion]:
        """Keep away from the node's own sshd; take the GPUs of a node as slots."""
        if self._nodes(around) is None:
            return {}
        return {**shared_node(self.port_22), **slots(around.env, self.gpus)}

    def _nodes(self, around: Surroundings) -> Nodes | None:
        return read(around.env, addresses=self.addresses, rank=self.rank)


def hosts(text: str, variable: str) -> tuple[str, ...]:
    """Read a list of names or addresses with any separator; a name that comes twice counts once.

    Raises:
        ConfigError: naming what is no host, or that there is none.
    """
    words = [word for word in _BETWEEN.split(text) if word]
    try:
        found = tuple(dict.fromkeys(checked_name(word) for word in words))
    except ValueError as fault:
        raise ConfigError(f"{variable}: {fault}", hint="the platform sets it") from fault
    if not found:
        raise ConfigError(f"{variable} names no host", hint="the platform sets it")
    return found


def shared_node(why: str) -> dict[str, Suggestion]:
    """Suggest what is usual where a job runs on the nodes themselves and ends with its first one.

    Args:
        why: who has port 22 there.
    """
    end = "the job is over with its first node"
    return {
        "ssh_port": Suggestion(value=SHARED_PORT, why=why),
        "failure_is_final": Suggestion(value=True, why=end),
        "retry_grace_s": Suggestion(value=_RETRY_GRACE_S, why=end),
    }


def slots(env: Mapping[str, str], variable: str) -> dict[str, Suggestion]:
    """Suggest as many slots as a node has GPUs; nothing where it has none, or that is not told."""
    text = env.get(variable, "")
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) <= 1024):
        return {}
    return {"slots": Suggestion(value=str(int(text)), why=variable)}
