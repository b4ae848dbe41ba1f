"""Addresses from which logins may come, as people write them and as sshd's own patterns have them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

EXPECTED = "networks (10.0.0.0/8), addresses, or patterns of addresses (10.1.*)"
_PATTERN = re.compile(r"[0-9a-fA-F.:*?]{1,64}")


def read(value: object) -> tuple[str, ...]:
    """Read sources; an empty list is no restriction, so it must not come from an empty text.

    Raises:
        ValueError: with the words for what was expected.
    """
    if value == ():  # the default, which nobody can write
        return ()
    if isinstance(value, list | tuple):
        words = [word for item in value for word in _split(item)]
    else:
        words = _split(value)
    if not words:
        raise ValueError(EXPECTED)
    return tuple(dict.fromkeys(_one(word) for word in words))


def _split(item: object) -> list[str]:
    if not isinstance(item, str):
        raise ValueError(EXPECTED)  # noqa: TRY004 - one kind of fault for the caller
    return item.replace(",", " ").split()


def _one(word: str) -> str:
    """Return a source as sshd reads it: a network without host bits, or a pattern."""
    if "*" in word or "?" in word:
        if _PATTERN.fullmatch(word):
            return word
        raise ValueError(f"{EXPECTED}; {word!r} is none, and names are not looked up")
    try:
        network = ipaddress.ip_network(word, strict=False)
    except ValueError:
        raise ValueError(f"{EXPECTED}; {word!r} is none, and names are not looked up") from None
    if "/" not in word:
        return str(network.network_address)
    if str(network.network_address) != str(ipaddress.ip_address(word.partition("/")[0])):
        raise ValueError(f"{EXPECTED}; {word} has host bits, its network is {network}")
    return str(network)


def with_own(sources: Iterable[str], own: Iterable[str]) -> tuple[str, ...]:
    """Add this container itself, which has to be able to log in to itself; nothing where all may."""
    given = tuple(sources)
    here = ("127.0.0.1", "::1", *(address.partition("%")[0] for address in own))
    return tuple(dict.fromkeys((*given, *here))) if given else ()


def local(fib_trie: str, if_inet6: str) -> tuple[str, ...]:
    """Read this container's own addresses from the kernel's tables; what cannot be read is left out.

    Args:
        fib_trie: text of /proc/net/fib_trie, where a local address stands above its `host LOCAL`.
        if_inet6: text of /proc/net/if_inet6, an address in hexadecimal digits a line.
    """
    found, last = [], ""
    for line in fib_trie.splitlines():
        words = line.split()
        if words[:1] == ["|--"] and len(words) > 1:
            last = words[1]
        elif words[-2:] == ["host", "LOCAL"]:
            found.append(last)
    found += [line.split(" ", 1)[0] for line in if_inet6.splitlines()]
    return tuple(dict.fromkeys(text for word in found if (text := _address(word))))


def _address(word: str) -> str:
    try:
        number = int(word, 16) if len(word) == 32 else word
        return str(ipaddress.ip_address(number))
    except ValueError:
        return ""
