"""Nodes that announce themselves: whom the launcher believes, who is missing, how often to repeat it.

An announcement comes over SSH from somebody who holds the job's key. Its content is checked all the
same: a node that is mistaken must not push another one out of the job.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Sequence

from mpiboot.errors import ConfigError
from mpiboot.model.announced import Announced
from mpiboot.model.counting import counted
from mpiboot.model.hosts import Host, checked_name, is_address
from mpiboot.model.record import dataclass, field, replace

_UNHEARD_S = (0.2, 5.0)  # the launcher may come later than its nodes: first pause, longest pause
_HEARD_S = (2.0, 30.0)  # it knows of us and has only to call back
_FIRST_SHOWN = 8
_TARGET = re.compile(
    r"(?:\[(?P<address>[^\[\]]+)\]|(?P<name>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?", re.ASCII
)


@dataclass(frozen=True, kw_only=True)
class Announcement:
    """What a node says of itself.

    Attributes:
        address: the address that it has towards the launcher.
        port: of its sshd.
        index: its number among the nodes; None: it has none.
    """

    address: str
    port: int
    index: int | None = None


@dataclass(frozen=True, kw_only=True)
class Board:
    """The announcements that count, and for whom there is room.

    Attributes:
        source: how many nodes there are, and which of them is the launcher.
        nodes: one for each index and each address, in the order in which they came.
    """

    source: Announced
    nodes: tuple[Announcement, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What became of an announcement.

    Attributes:
        board: as it is afterwards.
        refused: why it was refused; empty: it was not.
        news: whether it says what the board did not say before.
    """

    board: Board
    refused: str = ""
    news: bool = False


def take(board: Board, said: Announcement, held: Collection[str]) -> Taken:
    """Believe an announcement, or say why not.

    A node that came back at another address takes the place of the one it was, and so does a new
    node with the address of an old one; not where the old one's lease is open, though: that one is
    alive.

    Args:
        board: what is known.
        said: what a node says of itself.
        held: the addresses of nodes that were called back and are held.
    """
    refused = _wrong(board.source, said)
    if refused:
        return Taken(board=board, refused=refused)
    others: list[Announcement] = []
    kept: list[Announcement] = []
    for one in board.nodes:  # once, and by two fields: thousands of nodes say so again and again
        (others if _same_place(one, said) else kept).append(one)
    for other in others:
        if other != said and other.address in held:
            return Taken(board=board, refused=f"{_named(other)} is at {other.address} and alive")
    if len(kept) >= board.source.awaited:
        stale = next((one for one in kept if one.index is None and one.address not in held), None)
        if stale is None:
            return Taken(
                board=board,
                refused=f"all {counted(board.source.awaited, 'node is', 'nodes are')} known already",
            )
        kept.remove(stale)
    return Taken(board=replace(board, nodes=(*kept, said)), news=said not in others)


def _same_place(one: Announcement, other: Announcement) -> bool:
    return one.address == other.address or (one.index is not None and one.index == other.index)


def _named(one: Announcement) -> str:
    return "a node without a number" if one.index is None else f"node {one.index}"


def _wrong(source: Announced, said: Announcement) -> str:
    """Tell what is wrong with an announcement by itself; empty: nothing."""
    if said.index is not None and not 0 <= said.index < source.count:
        return f"there is no node {said.index}: {counted(source.count, 'node has', 'nodes have')} the numbers from 0"
    if said.index is not None and said.index == source.own:
        return f"node {said.index} is the launcher itself"
    if not usable(said.address):
        return f"{said.address[:60]!r} is not an address that others can reach"
    if not 0 < said.port <= 65535:
        return f"{said.port} is not a port"
    return ""


def usable(text: str) -> bool:
    """Tell whether a text is an address that another node may be able to reach."""
    if not is_address(text) or "%" in text:
        return False
    address = ipaddress.ip_address(text)
    return not (
        address.is_loopback or address.is_unspecified or address.is_multicast or address.is_link_local
    )  # fmt: skip


def hosts(board: Board, own_name: str) -> tuple[Host, ...]:
    """Return all who are known, in the order of their numbers; those without come last, by address.

    Args:
        board: what is known.
        own_name: what the launcher's own container is called.
    """
    numbered = [
        (one.index, Host(name=one.address, port=one.port))
        for one in board.nodes
        if one.index is not None
    ]
    if board.source.own is not None:
        numbered.append((board.source.own, Host(name=own_name, here=True)))
    rest = sorted((one for one in board.nodes if one.index is None), key=_by_address)
    return (
        *(host for _, host in sorted(numbered, key=lambda pair: pair[0])),
        *(Host(name=one.address, port=one.port) for one in rest),
    )


def _by_address(one: Announcement) -> tuple[int, int]:
    address = ipaddress.ip_address(one.address)
    return address.version, int(address)


def missing(board: Board) -> str:
    """Say who has not announced itself; empty when all have."""
    source, known = board.source, {one.index for one in board.nodes}
    late = source.awaited - len(board.nodes)
    if late <= 0:
        return ""
    verb = "has not announced itself" if late == 1 else "have not announced themselves"
    if None in known:  # numbers and nameless ones do not add up to names
        return f"{late} of {counted(source.awaited, 'node')} {verb}"
    absent = [n for n in range(source.count) if n not in known and n != source.own]
    return f"node{'s' * (late > 1)} {_ranges(absent)} {verb}"


def _ranges(numbers: Sequence[int]) -> str:
    """Write `1, 4-6`: the first few runs of some numbers in order."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs[:_FIRST_SHOWN])
    more = sum(b - a + 1 for a, b in runs[_FIRST_SHOWN:])
    return f"{shown} and {more} more" if more else shown


def pause_s(tries: int, *, heard: bool) -> float:
    """Return how long a node waits before it announces itself again.

    Args:
        tries: how often it was tried, or how often it was heard.
        heard: whether the launcher has answered.
    """
    first, longest = _HEARD_S if heard else _UNHEARD_S
    return min(longest, first * 1.5 ** min(tries, 40))


def target(text: str, port: int) -> tuple[str, int]:
    """Read `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`.

    Args:
        text: the setting.
        port: where none is given.

    Raises:
        ConfigError: it cannot be read.
    """
    found = _TARGET.fullmatch(text)
    name = text if is_address(text) else (found["address"] or found["name"]) if found else ""
    given = int(found["port"] or port) if found and name != text else port
    try:
        host = checked_name(name)
    except ValueError:
        host = ""
    if not host or not 0 < given <= 65535:
        raise ConfigError(
            f"--announce-to {text[:80]!r} is not understood",
            hint="write HOST, HOST:PORT or [ADDRESS]:PORT",
        )
    return host, given
