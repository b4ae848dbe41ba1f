"""Names to addresses, with the system's resolver, never in the loop's own thread."""

from __future__ import annotations

import asyncio
import ipaddress
import socket

from mpiboot.runtime.within import within


class NoNameError(Exception):
    """The name does not resolve now; it may later."""


async def lookup(name: str, timeout_s: float) -> list[str]:
    """Return the addresses of a name in the resolver's order, IPv4 first.

    Raises:
        NoNameError: with the resolver's own words.
    """
    loop = asyncio.get_running_loop()
    try:
        asked = loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        found = await within(timeout_s, asked)
    except socket.gaierror as fault:
        raise NoNameError(fault.strerror or "name does not resolve") from fault
    except asyncio.TimeoutError:
        raise NoNameError(f"the resolver did not answer within {timeout_s:g} s") from None
    except UnicodeError as fault:
        raise NoNameError(str(fault)) from fault
    addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
    return sorted(addresses, key=lambda text: ":" in text)


async def address_towards(host: str, port: int, timeout_s: float) -> str:
    """Return the address of this container from which it reaches a host.

    Raises:
        NoNameError: the host has no address now.
        OSError: there is no way to any.
    """
    last: OSError | None = None
    for address in await lookup(host, timeout_s):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            try:
                sock.connect((address, port))  # chooses the way; nothing is sent
                return str(sock.getsockname()[0])
            except OSError as fault:
                last = fault
    raise last or NoNameError("it has no address")


def ordered(addresses: list[str]) -> list[str]:
    """Sort addresses by number, so that ranks land alike in every run."""
    return sorted(addresses, key=lambda a: (":" in a, ipaddress.ip_address(a.split("%")[0])))
