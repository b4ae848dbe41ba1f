"""Who runs how many ranks under which name: the hostfile's content, and ssh's view of it."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from mpiboot.errors import ConfigError
from mpiboot.model.counting import counted
from mpiboot.model.hosts import is_address
from mpiboot.model.record import dataclass
from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Dialect, Node

if TYPE_CHECKING:  # a worker gathers nobody
    from mpiboot.plan.gather import Seen

_MANY = 64
_PLAIN_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Place:
    """One worker in its final order.

    Attributes:
        name: as the user named it.
        node: as mpirun sees it.
        slots: ranks it may take.
        address: where its sshd answered; empty for this very container.
        port: the port of that sshd.
        user: login name; empty for the job's.
        why: where the slots come from.
    """

    name: str
    node: str
    slots: int
    address: str
    port: int
    user: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Layout:
    """All places and the number of ranks to start."""

    places: tuple[Place, ...]
    np: int

    @property
    def total_slots(self) -> int:
        """Slots of all places."""
        return sum(place.slots for place in self.places)

    @property
    def nodes(self) -> list[Node]:
        """The lines of the hostfile."""
        return [Node(name=place.node, slots=place.slots) for place in self.places]

    @property
    def dotted_names(self) -> bool:
        """Tell whether a node is called by more than one label, which some MPIs would cut."""
        return any("." in place.node and not is_address(place.node) for place in self.places)

    def name_of(self, node: str) -> str:
        """Translate a node name in mpirun's messages back to the user's name for it."""
        return self._names.get(node, node)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Map all that mpirun may call a place to the user's name for it; the first place counts."""
        names: dict[str, str] = {}
        for place in self.places:
            for called in (place.node, place.node.split(".")[0], place.address):
                names.setdefault(called, place.name)
        return names

    def table(self) -> str:
        """Lay out host → slots, with where the number comes from."""
        width = max(len(place.name) for place in self.places)
        return "\n".join(
            f"  {place.name:<{width}}  slots {place.slots} ({place.why})" for place in self.places
        )


def arrange(
    chosen: Sequence[Seen],
    *,
    own_hostname: str,
    slots: str,
    np: int,
    oversubscribe: bool = False,
    calls: str = "auto",
) -> Layout:
    """Fix order, names and slots.

    Args:
        chosen: the ready hosts, in the user's order.
        own_hostname: this container's hostname.
        slots: the setting: a number or `auto`.
        np: ranks wanted; 0 for all slots.
        oversubscribe: whether there may be more ranks than slots.
        calls: as for `settle`.

    Raises:
        ConfigError: np is more than all slots; with the table.
    """
    places = settle(chosen, own_hostname=own_hostname, slots=slots, calls=calls)
    total = sum(place.slots for place in places)
    layout = Layout(places=places, np=np or total)
    if layout.np > total and not oversubscribe:
        raise ConfigError(
            f"{counted(layout.np, 'rank is', 'ranks are')} wanted, but the workers have"
            f" {counted(total, 'slot')}; lower -np, raise the slots, or allow it with --oversubscribe:\n{layout.table()}"
        )
    return layout


def calls(settings: Settings) -> str:
    """Tell how workers are called: where they come and go, a name must not change by that."""
    fixed = settings.elastic and settings.hostfile_names == "auto"
    return "name" if fixed else settings.hostfile_names


def settle(
    chosen: Sequence[Seen],
    *,
    own_hostname: str,
    slots: str,
    calls: str,
    among: Sequence[Seen] = (),
) -> tuple[Place, ...]:
    """Give each host its name for mpirun, and its slots.

    By themselves those are called by address whose names differ only behind the first dot, for
    Open MPI cuts names there unless it is told otherwise, and takes such hosts for one (its #4732,
    the MPI Operator's #733); and all of many: Open MPI 4 looks a name up four times before it
    starts, behind every entry of the search list, one name after the other.

    Args:
        chosen: the hosts, ready.
        own_hostname: this container's hostname.
        slots: the setting: a number or `auto`.
        calls: `name`, `address` or `auto`.
        among: all who take part, where those are only some of them.
    """

    def label(one: Seen) -> str:
        return _label(own_hostname if one.here else one.host.name)

    all_of_them = among or chosen
    addresses = Counter(one.address for one in all_of_them)
    many = calls == "address" or (calls == "auto" and len(all_of_them) > _MANY)
    by_label = calls == "auto" and not many  # else nothing depends on labels
    labels = Counter(label(one) for one in all_of_them) if by_label else Counter[str]()

    def by_address(one: Seen) -> bool:
        cut = by_label and labels[label(one)] > 1
        # Pods on one node's network share its address, and differ by their ports.
        return (many or cut) and addresses[one.address] == 1

    return tuple(
        _place(one, own_hostname, slots, by_address=not one.here and by_address(one))
        for one in chosen
    )


def _place(one: Seen, own_hostname: str, slots: str, *, by_address: bool) -> Place:
    count, why = _slots(one, slots)
    name = one.address if by_address else one.host.name
    return Place(
        name=one.host.name,
        node=node_name(name, one.address, own_hostname, here=one.here),
        slots=count,
        address="" if one.here else one.address,
        port=one.port,
        user=one.host.user or "",
        why=why,
    )


def _label(node: str) -> str:
    return node if is_address(node) else node.split(".", 1)[0].lower()


def slots_of(one: Seen, setting: str) -> int | None:
    """Tell how many ranks a host may take; None while neither the user nor the host has said.

    Args:
        one: the host.
        setting: a number or `auto`.
    """
    unknown = one.host.slots is None and setting == "auto" and not one.reach.ready
    return None if unknown else _slots(one, setting)[0]


def _slots(one: Seen, setting: str) -> tuple[int, str]:
    if one.host.slots is not None:
        return one.host.slots, "given with the host"
    if setting != "auto":
        return int(setting), "--slots"
    if one.facts is None:
        return 1, "plain sshd says nothing of its CPUs"
    if one.facts.gpus:
        return one.facts.gpus, "visible GPUs"
    return one.facts.auto_slots, f"{counted(one.facts.cpus, 'CPU', form='g')} by quota and cpuset"


def check_names(dialect: Dialect, hostname: str, nodes: Sequence[Node]) -> None:
    """Ask an MPI whether it can bear the names.

    Raises:
        ConfigError: it cannot.
    """
    fault = dialect.check_names(hostname, nodes)
    if fault:
        raise ConfigError(
            fault, hint="set another hostname for this container (docker: --hostname)"
        )


def node_name(name: str, address: str, own_hostname: str, *, here: bool) -> str:
    """Choose the name that goes into the hostfile.

    This container's own line becomes its hostname, so that mpirun forks there and never asks ssh
    or DNS. A legal name stays, because people read it in mpirun's messages. A name with an
    underscore becomes its address, for ORTE refuses it. An IPv6 literal crashes mpirun: it gets a
    made-up name that only our ssh_config knows.
    """
    if here:
        return own_hostname
    if _PLAIN_NAME.fullmatch(name) and ":" not in name:
        return name
    if ipaddress.ip_address(address).version == 4:
        return address
    return "node-" + ipaddress.ip_address(address).exploded.replace(":", "-")
