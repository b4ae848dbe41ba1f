"""Names to addresses, with the system's resolver, never in the loop's own thread."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor

from mpiboot.runtime.within import within

# A resolver whose servers are silent keeps a thread for 20 s and more: logins have other threads.
_THREADS = 32


class NoNameError(Exception):
    """The name does not resolve now; it may later."""


class NoAnswerError(NoNameError):
    """Nobody has said whether there is such a name."""


class OtherFamilyError(NoNameError):
    """The name exists, but not with an address of that family."""


_KINDS: dict[int | None, type[NoNameError]] = {
    socket.EAI_AGAIN: NoAnswerError,
    socket.EAI_NODATA: OtherFamilyError,
    socket.EAI_ADDRFAMILY: OtherFamilyError,
}


async def lookup(name: str, timeout_s: float, family: int = socket.AF_UNSPEC) -> list[str]:
    """Return the addresses of a name in the resolver's order, IPv4 first.

    Raises:
        NoNameError: with the resolver's own words.
    """
    ask = functools.partial(socket.getaddrinfo, name, None, family, socket.SOCK_STREAM)
    try:
        asked = asyncio.get_running_loop().run_in_executor(_threads(), ask)
        found = await within(timeout_s, asked)
    except socket.gaierror as fault:
        raise _KINDS.get(fault.errno, NoNameError)(fault.strerror or "no such name") from fault
    except asyncio.TimeoutError:
        raise NoAnswerError(f"the resolver did not answer within {timeout_s:g} s") from None
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


async def lookup_once(name: str, timeout_s: float) -> list[str]:
    """Return the addresses of an absolute name at the price of one query where it has IPv4 ones.

    It is asked for IPv6 only when it exists without IPv4; to ask for both at once doubles the
    queries, and loses some of them where connections are tracked.

    Raises:
        NoNameError: with the resolver's own words.
    """
    try:
        return await lookup(name, timeout_s, socket.AF_INET)
    except OtherFamilyError:
        return await lookup(name, timeout_s, socket.AF_INET6)


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="resolver")


def ordered(addresses: list[str]) -> list[str]:
    """Sort addresses by number, so that ranks land alike in every run."""
    return sorted(addresses, key=lambda a: (":" in a, ipaddress.ip_address(a.split("%")[0])))
