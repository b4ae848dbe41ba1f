"""Further interfaces for pods, shared with nobody."""

from __future__ import annotations

import ipaddress

from mpiboot.local.cluster import Pod


def extra_network(pod: Pod, name: str, cidr: str, *, up: bool = True) -> None:
    """Give a pod an interface whose network reaches nobody, as a CNI's or Docker's own bridge.

    It is one end of a pair of which nobody hears the other, so that it looks alive.

    Args:
        pod: where to make it.
        name: of the interface, at most 13 characters.
        cidr: its address with the length of the prefix.
        up: whether it is switched on.
    """
    _ip(pod, "link", "add", name, "type", "veth", "peer", "name", f"{name}-p")
    further_address(pod, name, cidr)
    if up:
        _ip(pod, "link", "set", f"{name}-p", "up")
        _ip(pod, "link", "set", name, "up")


def further_address(pod: Pod, name: str, cidr: str) -> None:
    """Give an interface one more address, with the length of the prefix."""
    # Without duplicate address detection an IPv6 address can be used at once.
    nodad = ["nodad"] if ipaddress.ip_interface(cidr).version == 6 else []
    _ip(pod, "address", "add", cidr, "dev", name, *nodad)


def rename_network(pod: Pod, old: str, new: str) -> None:
    """Rename an interface; it keeps its address."""
    _ip(pod, "link", "set", old, "down")
    _ip(pod, "link", "set", old, "name", new)
    _ip(pod, "link", "set", new, "up")


def _ip(pod: Pod, *words: str) -> None:
    done = pod.exec(["ip", *words], env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr


def narrow_network(pod: Pod, name: str, address: str, route: str) -> None:
    """Leave an interface its bare address, and a route to all others, as Calico does.

    Args:
        pod: whose interface.
        name: of the interface.
        address: its IPv4 address.
        route: what is reached through it, in CIDR form.
    """
    _ip(pod, "address", "flush", "dev", name)
    _ip(pod, "address", "add", f"{address}/32", "dev", name)
    _ip(pod, "route", "add", route, "dev", name, "src", address)
