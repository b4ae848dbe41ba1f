"""Find this host's interface in one of the job's networks."""

from __future__ import annotations

import _socket
import fcntl
import os

_SIOCGIFADDR = 0x8915
_NAME_SIZE = 16
_IFREQ_SIZE = 40


def interface(networks: list[str]) -> str:
    """Name the interface that has an address in the first network that has any; empty for none.

    Args:
        networks: IPv4 and IPv6 networks as ADDRESS/BITS.
    """
    addresses = [*_addresses_4(), *_addresses_6()]
    for network in networks:
        text, _, bits = network.partition("/")
        base = _packed(text)
        kept = int(bits) if bits.isdigit() else 8 * len(base)
        for name, address in addresses:
            if base and len(base) == len(address) and _same(base, address, kept):
                return name
    return ""


def _packed(text: str) -> bytes:
    family = _socket.AF_INET6 if ":" in text else _socket.AF_INET
    try:
        return _socket.inet_pton(family, text)
    except OSError:
        return b""


def _same(one: bytes, other: bytes, bits: int) -> bool:
    shift = max(0, 8 * len(one) - bits)
    return int.from_bytes(one, "big") >> shift == int.from_bytes(other, "big") >> shift


def _addresses_4() -> list[tuple[str, bytes]]:
    """Return the first IPv4 address of each interface; those in /proc lack their interface."""
    found = []
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    for _, name in _socket.if_nameindex():
        request = os.fsencode(name)[: _NAME_SIZE - 1].ljust(_IFREQ_SIZE, b"\0")
        try:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
        except OSError:
            continue  # it has none
        found.append((name, answer[20:24]))
    probe.close()
    return found


def _addresses_6() -> list[tuple[str, bytes]]:
    try:
        with open("/proc/net/if_inet6") as file:
            rows = [line.split() for line in file]
    except OSError:
        return []
    return [(row[5], bytes.fromhex(row[0])) for row in rows]
