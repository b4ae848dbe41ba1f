"""On which network do the hosts of a job talk? Asked only where a host is on more than one."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network

from mpiboot.errors import ConfigError
from mpiboot.model.facts import Network, is_interface_name
from mpiboot.model.record import dataclass, field, replace
from mpiboot.plan.parties import Party, listed

AnyNetwork = IPv4Network | IPv6Network

# The libraries beside MPI choose for themselves, each by rules of its own, unless they are told.
_EXACT = "NCCL_SOCKET_IFNAME"  # takes prefixes of names, `=` makes it the whole name
_NAMED = ("GLOO_SOCKET_IFNAME", "HOROVOD_GLOO_IFACE", "FI_TCP_IFACE")
_UCX = "UCX_NET_DEVICES"
# What each host has to itself; a network that is to hold one interface of a host must not hold these.
_OWN = tuple(ipaddress.ip_network(text) for text in ("127.0.0.0/8", "169.254.0.0/16", "fe80::/10"))


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A network for the job, or none: then MPI and the libraries find their way themselves.

    Attributes:
        cidrs: the networks, `10.1.0.0/24`; empty: nothing is set.
        included: what Open MPI's `if_include` gets for that: these, one that holds them all, or a
            name; empty: nothing that it understands.
        name: of the interface, where it is the same wherever ranks run; else empty.
        per_host: host → name of the interface, as far as it is known.
        last_index: the highest of the kernel's numbers of these interfaces; 0: none is known.
        reason: why, or why not.
    """

    cidrs: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    name: str = ""
    per_host: Mapping[str, str] = field(default_factory=dict)
    last_index: int = 0
    reason: str


def choose(hosts: Sequence[Party], wanted: Sequence[str] = ()) -> Choice:
    """Choose the network on which each host was reached.

    Args:
        hosts: launcher and workers.
        wanted: the user's own choice: names of interfaces, or networks in CIDR form.

    Raises:
        ConfigError: a host does not have what the user wants.
    """
    if wanted:
        return _users(hosts, wanted)
    silent = _silent(hosts)
    if len(hosts) < 2:
        return Choice(reason="all ranks run in one container")
    if all(len({net.name for net in host.networks}) <= 1 for host in hosts):
        return Choice(reason=f"no host is on more than one network{silent}")
    picked = {host.name: _reached(host) for host in hosts if host.networks}
    for host in hosts:
        if host.networks and not picked[host.name]:
            return Choice(
                reason=f"{host.name} was reached at {host.address or '?'}, which is none of its own"
                f" addresses ({_shown(host)}): MPI chooses; name a network with --interface"
            )
    more = [_network(f"{host.address}/32") for host in hosts if not host.networks and _is_4(host)]
    return _made(hosts, picked, more, f"the hosts reach each other on it{silent}")


def _silent(hosts: Sequence[Party]) -> str:
    names = [host.name for host in hosts if not host.networks]
    return f"; not known of {listed(names)}: no agent tells its networks" if names else ""


def _is_4(host: Party) -> bool:
    return bool(host.address) and ":" not in host.address


def _reached(host: Party) -> list[Network]:
    """Find the network of the address at which a host was reached.

    Where that is an IPv6 one, IPv4 on the same interface comes along: not every MPI can do without.
    """
    if not host.address:
        return []
    address = ipaddress.ip_address(host.address)
    found = [net for net in host.networks if ipaddress.ip_interface(net.cidr).ip == address]
    if not found or address.version == 4:
        return found[:1]
    same = (net for net in host.networks if net.name == found[0].name)
    return [found[0], *[net for net in same if ":" not in net.cidr][:1]]


def _users(hosts: Sequence[Party], wanted: Sequence[str]) -> Choice:
    """Follow the user: names must be there on every host, and one of the networks."""
    words = [word.strip() for text in wanted for word in text.split(",") if word.strip()]
    try:
        wide = {word: _network(word) for word in words if not is_interface_name(word)}
    except ValueError as fault:
        hint = "give names of interfaces, or networks in CIDR form"
        raise ConfigError(f"--interface: {fault}", hint=hint) from None
    picked = {}
    for host in hosts:
        if host.networks:
            found = [net for word in words for net in host.networks if _meant(net, word, wide)]
            names = {net.name for net in found}
            absent = [word for word in words if word not in wide and word not in names]
            if absent or not found:
                lack = f"no interface {absent[0]}" if absent else f"no address in {','.join(wide)}"
                raise ConfigError(
                    f"--interface {','.join(words)}: {host.name} has {lack}; it has {_shown(host)}"
                )
            picked[host.name] = found
    included, why = tuple(words), f"yours{_silent(hosts)}"
    if not picked:
        return Choice(cidrs=_texts(wide.values()), included=included, reason=why)
    return replace(_made(hosts, picked, [], why), included=included)


def _meant(net: Network, word: str, wide: Mapping[str, AnyNetwork]) -> bool:
    return ipaddress.ip_interface(net.cidr).ip in wide[word] if word in wide else net.name == word


def _made(
    hosts: Sequence[Party],
    picked: Mapping[str, Sequence[Network]],
    more: Sequence[AnyNetwork],
    why: str,
) -> Choice:
    cidrs = _distinct([_network(net.cidr) for nets in picked.values() for net in nets], more)
    per_host = {host: nets[0].name for host, nets in picked.items()}
    names = {per_host.get(host.name, "") for host in hosts if host.ranks}
    name = names.pop() if len(names) == 1 else ""
    said = ",".join(_texts(_joined(hosts, picked, cidrs)))
    differ = "" if name else "; its interface is not called the same everywhere"
    return Choice(
        cidrs=_texts(cidrs),
        included=_included(hosts, picked, cidrs),
        name=name,
        per_host=per_host,
        last_index=max((net.index for nets in picked.values() for net in nets), default=0),
        reason=f"{said}{f' ({name})' if name else ''}: {why}{differ}",
    )


def _included(
    hosts: Sequence[Party], picked: Mapping[str, Sequence[Network]], cidrs: Sequence[AnyNetwork]
) -> tuple[str, ...]:
    """Say it as Open MPI understands it: in IPv4, or by a name that every host knows.

    An IPv6 network ends it. An interface that has IPv6, too, it knows best by name: version 5 says
    of an IPv4 network that there is none such.
    """
    joined = _joined(hosts, picked, [net for net in cidrs if net.version == 4])
    in_4 = all(any(":" not in net.cidr for net in nets) for nets in picked.values())
    alone = len(joined) == 1 and not _holds_more(joined[0], hosts, picked)
    names = {picked[host.name][0].name if host.name in picked else "" for host in hosts}
    named = len(names) == 1 and "" not in names
    in_6 = any(":" in net.cidr and net.name in names for host in hosts for net in host.networks)
    if named and not (in_4 and alone and not in_6):
        return tuple(names)
    return _texts(_several(net) for net in joined) if in_4 else ()


def _distinct(chosen: Iterable[AnyNetwork], more: Sequence[AnyNetwork]) -> list[AnyNetwork]:
    """Drop what comes twice, and single addresses that one of the networks holds."""
    kept = list(dict.fromkeys(chosen))
    return kept + [net for net in dict.fromkeys(more) if not _held(net, kept)]


def _joined(
    hosts: Sequence[Party], picked: Mapping[str, Sequence[Network]], nets: Sequence[AnyNetwork]
) -> list[AnyNetwork]:
    """Find one network that holds all of these, and nothing else that a host has.

    Open MPI 4 and 5 warn on each host of each network that it is not on.
    """
    if len({net.version for net in nets}) != 1:
        return list(nets)
    wide = _several(nets[0])
    while not all(_held(net, [wide]) for net in nets):
        wide = wide.supernet()
    return list(nets) if _holds_more(wide, hosts, picked) else [wide]


def _holds_more(
    wide: AnyNetwork, hosts: Sequence[Party], picked: Mapping[str, Sequence[Network]]
) -> bool:
    """Tell whether a host has another interface in a network than the one that is meant."""
    others = [
        _network(net.cidr)
        for host in hosts
        for net in host.networks
        if net.name not in {one.name for one in picked[host.name]}
    ]
    return any(_held(wide, [net]) or _held(net, [wide]) for net in (*others, *_OWN))


def _several(net: AnyNetwork) -> AnyNetwork:
    """Widen a single address: Open MPI takes a /32 for all addresses there are."""
    return net.supernet() if net.prefixlen == net.max_prefixlen else net


def _network(text: str) -> AnyNetwork:
    return ipaddress.ip_network(text, strict=False)


def _held(net: AnyNetwork, wide: Sequence[AnyNetwork]) -> bool:
    return any(
        net.version == one.version and net.network_address in one and net.prefixlen >= one.prefixlen
        for one in wide
    )


def _texts(nets: Iterable[AnyNetwork]) -> tuple[str, ...]:
    return tuple(map(str, nets))


def _shown(host: Party) -> str:
    return ", ".join(f"{net.name} {net.cidr}" for net in host.networks)


def named(*, rdma: bool) -> tuple[str, ...]:
    """Name the variables that hold an interface's name.

    UCX's is for hosts without RDMA only: it would hide those devices.
    """
    return (_EXACT, *_NAMED) if rdma else (_EXACT, *_NAMED, _UCX)


def variables(choice: Choice, *, rdma: bool = True, given: Collection[str] = ()) -> dict[str, str]:
    """Tell NCCL, Gloo, Horovod, libfabric and UCX the interface, where its name is one for all.

    Args:
        choice: the network.
        rdma: whether a host has, or may have, RDMA devices.
        given: variables that are set already.
    """
    if not choice.name:
        return {}
    wanted = [name for name in named(rdma=rdma) if name not in given]
    return {name: f"={choice.name}" if name == _EXACT else choice.name for name in wanted}
