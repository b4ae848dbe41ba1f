"""Who takes part: hosts as the user named them, from a list, a hostfile, or a name to enumerate."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from mpiboot.errors import ConfigError
from mpiboot.model import announced, hostranges
from mpiboot.model.announced import Announced
from mpiboot.model.record import dataclass, replace

MAX_SLOTS = 100_000
MAX_HOSTS = 100_000

# Underscores are legal: compose makes such names, and DNS decides. A leading dash would be read as
# an option by ssh, so it is not.
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?", re.ASCII)
# A word and a line as programs write them; all others are read with care.
_WORD = re.compile(rf"({_NAME.pattern})(?::([0-9]{{1,9}}))?", re.ASCII)
_LINE = re.compile(rf"({_NAME.pattern})(?:[ \t]+slots=([0-9]{{1,9}}))?[ \t]*", re.ASCII)
_IPV4_SIGNS = "0123456789."
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", re.ASCII)
_LONGEST_WORD = 1024  # of a hostfile or a list; a range would repeat it many times


@dataclass(frozen=True, kw_only=True)
class Host:
    """One worker as it was named.

    Attributes:
        name: a DNS name or an IP address without brackets.
        slots: ranks it may take; None when nothing was said.
        port: port of its sshd; None for the job's default.
        user: login name; None for the job's default.
        here: whether the platform tells that it is this very container, whatever its name resolves to.
    """

    name: str
    slots: int | None = None
    port: int | None = None
    user: str | None = None
    here: bool = False

    @property
    def is_address(self) -> bool:
        """Tell whether the name is a literal IP address."""
        return is_address(self.name)


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Hosts that are known by name from the start."""

    hosts: tuple[Host, ...]


@dataclass(frozen=True, kw_only=True)
class Enumerated:
    """Hosts that are the addresses of one DNS name.

    Attributes:
        name: the name to ask for, e.g. a compose service.
        count: how many to expect; None: as many as stay the same for a while.
    """

    name: str
    count: int | None


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """Hosts that a program prints, in a hostfile's words.

    Attributes:
        command: the program and its arguments.
        count: as for `Enumerated`.
    """

    command: tuple[str, ...]
    count: int | None


Source = Listed | Enumerated | Scripted | Announced


def is_address(text: str) -> bool:
    """Tell whether a text is a literal IPv4 or IPv6 address."""
    if ":" not in text and text.strip(_IPV4_SIGNS):
        return False  # as nearly every name: the parser's own no costs twenty times as much
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def parse_list(text: str) -> Listed:
    """Read `a:2,b:2,[fe80::1]:4,w-[0-7]`.

    Raises:
        ConfigError: naming every item that cannot be read.
    """
    hosts: list[Host] = []
    problems: list[str] = []
    for number, item in enumerate(text.split(","), start=1):
        if not item.strip():
            continue
        try:
            _add(hosts, [item.strip()])
        except ValueError as fault:
            problems.append(f"item {number} {item.strip()[:80]!r}: {fault}")
            if len(hosts) > MAX_HOSTS:
                break
    return _listed(hosts, problems, "the host list")


def parse_hostfile(text: str, name: str) -> Listed:
    """Read a hostfile in any dialect: `a slots=2`, `a:2`, `user@a port=2222`, comments, CRLF.

    Args:
        text: the file's text.
        name: how to call the file in messages.

    Raises:
        ConfigError: naming every bad line by its number, or an empty file.
    """
    hosts: list[Host] = []
    problems: list[str] = []
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        ordinary = _ordinary(_LINE, line)
        if ordinary is not None and len(hosts) <= MAX_HOSTS:
            hosts.append(ordinary)
            continue
        told = line.split("#", 1)[0]
        words = "=".join(part.strip() for part in told.split("=")).split()
        if not words:
            continue
        try:
            _add(hosts, words)
        except ValueError as fault:
            problems.append(f"line {number} {line.strip()[:80]!r}: {fault}")
            if len(hosts) > MAX_HOSTS:
                break
    return _listed(hosts, problems, f"hostfile {name}")


def parse_source(text: str, count: int) -> Source:
    """Read the value of --hosts: `dns:NAME` to enumerate, `announce:N` to be told, else a list.

    Raises:
        ConfigError: it cannot be read.
    """
    if text.startswith(announced.PREFIX):
        return announced.parse(text)
    if text.startswith("dns:"):
        name = text.removeprefix("dns:")
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"--hosts {text!r}: {name!r} is not a DNS name", hint="write dns:NAME"
            )
        return Enumerated(name=name, count=count or None)
    return parse_list(text)


def _add(hosts: list[Host], words: list[str]) -> None:
    """Read one entry and add its hosts.

    Raises:
        ValueError: it cannot be read, or there are too many hosts by now.
    """
    if len(words[0]) > _LONGEST_WORD:
        raise ValueError(f"a word of {len(words[0])} characters, {_LONGEST_WORD} is the most")
    if len(hosts) > MAX_HOSTS:
        raise ValueError(f"more than {MAX_HOSTS} hosts")
    hosts += [_parse_words([word, *words[1:]]) for word in hostranges.expand(words[0])]


def _ordinary(form: re.Pattern[str], text: str) -> Host | None:
    """Read a name, with slots or without, in its ordinary form; None where it has another one."""
    found = form.fullmatch(text)
    if found is None:
        return None
    name, count = found.groups()
    slots = None if count is None else int(count)
    return None if slots is not None and slots > MAX_SLOTS else Host(name=name, slots=slots)


def _listed(hosts: list[Host], problems: list[str], what: str) -> Listed:
    if problems:
        shown = "; ".join(problems[:10])
        more = f"; and {len(problems) - 10} more" if len(problems) > 10 else ""
        raise ConfigError(f"{what}: {shown}{more}", hint="write name, name:2 or name slots=2")
    merged = tuple(host for host in _merge(hosts) if host.slots != 0)
    if not merged:
        raise ConfigError(f"{what} names no host", hint="give at least one worker")
    if len(merged) > MAX_HOSTS:
        raise ConfigError(f"{what} names {len(merged)} hosts, more than {MAX_HOSTS}")
    return Listed(hosts=merged)


def _merge(hosts: Iterable[Host]) -> list[Host]:
    """Add up the slots of a host that is named twice, as `mpirun -H a,a` means it."""
    table: dict[str, Host] = {}
    for host in hosts:
        key = host.name.lower()
        seen = table.get(key)
        if seen is None:
            table[key] = host
        else:
            slots = (1 if seen.slots is None else seen.slots) + (
                1 if host.slots is None else host.slots
            )
            table[key] = replace(seen, slots=slots)
    return list(table.values())


def _parse_words(words: list[str]) -> Host:
    ordinary = _ordinary(_WORD, words[0]) if len(words) == 1 else None
    return ordinary or _parse_with_care(words)


def _parse_with_care(words: list[str]) -> Host:
    name, slots = _split_slots(words[0])
    user = None
    if "@" in name:
        user, name = name.split("@", 1)
    host = Host(name=checked_name(name), slots=slots, user=user)
    for word in words[1:]:
        host = _apply(host, word)
    if host.user is not None and not _USER.fullmatch(host.user):
        raise ValueError(f"{host.user!r} is not a user name")
    return host


def _split_slots(word: str) -> tuple[str, int | None]:
    """Split `name:2`, `[v6]:2`, `[v6]` or a bare v6 address."""
    lead, bracket, rest = word.partition("[")
    if bracket and (not lead or lead.endswith("@")):
        address, closing, tail = rest.partition("]")
        if not closing or (tail and not tail.startswith(":")):
            raise ValueError("a bracket is not closed")
        return lead + address, _slots(tail[1:]) if tail else None
    if word.count(":") > 1:
        return word, None
    name, colon, count = word.partition(":")
    return name, _slots(count) if colon else None


def _apply(host: Host, word: str) -> Host:
    key, equals, value = word.partition("=")
    match key.lower().replace("-", "_"):
        case "slots" if equals:
            if host.slots is not None:
                raise ValueError("slots are given twice")
            return replace(host, slots=_slots(value))
        case "max_slots" if equals:
            _slots(value)
            return host
        case "port" if equals:
            return replace(host, port=_number(value, "port", 1, 65535))
        case "user" | "username" if equals:
            return replace(host, user=value)
    raise ValueError(f"{word[:40]!r} is not understood (expected slots=, port= or user=)")


def _slots(text: str) -> int:
    return _number(text, "slots", 0, MAX_SLOTS)


def _number(text: str, what: str, least: int, most: int) -> int:
    fits = text.isascii() and text.isdigit() and len(text) <= 9
    if not (fits and least <= int(text) <= most):
        raise ValueError(f"{what} must be a number from {least} to {most}, not {text[:20]!r}")
    return int(text)


def checked_name(name: str) -> str:
    """Return a host name or an address as it is.

    Raises:
        ValueError: it is neither.
    """
    if is_address(name) or _NAME.fullmatch(name):
        return name
    raise ValueError(f"{name[:60]!r} is not a host name or address")
