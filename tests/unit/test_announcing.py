"""Nodes announce themselves: whom the launcher believes, who is missing, how often it is repeated."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError
from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.model import announced
from mpiboot.model.announced import Announced
from mpiboot.model.hosts import Host, parse_source
from mpiboot.plan import announcing
from mpiboot.plan.announcing import Announcement, Board
from tests.unit.test_messages import json_values

addresses = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(str),
    st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
    st.text(max_size=12),
)
announcements = st.builds(
    Announcement,
    address=addresses,
    port=st.integers(-1, 70000) | st.just(22),
    index=st.none() | st.integers(-2, 6),
)
sources = st.integers(1, 5).flatmap(
    lambda count: st.builds(
        Announced, count=st.just(count), own=st.none() | st.integers(0, count - 1)
    )
)


def node(index: int | None, address: str, port: int = 22) -> Announcement:
    return Announcement(address=address, port=port, index=index)


def board(*said: Announcement, count: int = 3, own: int | None = 0) -> Board:
    made = Board(source=Announced(count=count, own=own))
    for one in said:
        taken = announcing.take(made, one, held=())
        assert not taken.refused
        made = taken.board
    return made


@given(sources, st.lists(announcements, max_size=12), st.sets(addresses, max_size=3))
def test_a_board_is_sound_whatever_is_announced(
    source: Announced, said: list[Announcement], held: set[str]
) -> None:
    """Never more nodes than there are, one address for each number, no number out of range."""
    made = Board(source=source)
    for one in said:
        taken = announcing.take(made, one, held)
        assert taken.refused.isprintable()
        assert taken.board == made if taken.refused else one in taken.board.nodes
        assert taken.news is (not taken.refused and one not in made.nodes)
        kept = {each.address for each in made.nodes if each.address in held}
        assert kept <= {each.address for each in taken.board.nodes}
        made = taken.board
    assert len(made.nodes) <= source.awaited
    numbers = [one.index for one in made.nodes if one.index is not None]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < source.count and number != source.own for number in numbers)
    assert len({one.address for one in made.nodes}) == len(made.nodes)
    hosts = announcing.hosts(made, "me")
    assert len(hosts) == len(made.nodes) + (source.own is not None)
    assert bool(announcing.missing(made)) is (len(made.nodes) < source.awaited)


@given(announcements)
def test_what_is_believed_can_be_reached(said: Announcement) -> None:
    """A loopback address, a name, a port of 0: nobody could call such a node back."""
    taken = announcing.take(Board(source=Announced(count=9)), said, held=())
    if not taken.refused:
        address = ipaddress.ip_address(said.address)
        assert not address.is_loopback
        assert not address.is_unspecified
        assert 0 < said.port <= 65535


def test_hosts_are_in_the_order_of_their_numbers() -> None:
    """The hostfile has node 0 first, whoever came first; the launcher stands at its own number."""
    made = board(
        node(3, "10.0.0.3"), node(0, "10.0.0.9", 2222), node(2, "10.0.0.7"), count=4, own=1
    )
    assert announcing.hosts(made, "main") == (
        Host(name="10.0.0.9", port=2222),
        Host(name="main", here=True),
        Host(name="10.0.0.7", port=22),
        Host(name="10.0.0.3", port=22),
    )


def test_nodes_without_a_number_come_last_by_address() -> None:
    """Ranks land alike in every run, and 10.0.0.9 is before 10.0.0.10."""
    made = board(node(None, "10.0.0.10"), node(None, "10.0.0.9"), node(1, "10.0.1.1"), own=None)
    assert [host.name for host in announcing.hosts(made, "")] == [
        "10.0.1.1", "10.0.0.9", "10.0.0.10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (node(3, "10.0.0.3"), "there is no node 3"),
        (node(-1, "10.0.0.3"), "there is no node -1"),
        (node(0, "10.0.0.3"), "node 0 is the launcher itself"),
        (node(1, "127.0.0.1"), "not an address that others can reach"),
        (node(1, "fe80::1%eth0"), "not an address that others can reach"),
        (node(1, "main.example"), "not an address that others can reach"),
        (node(1, "10.0.0.3", 0), "0 is not a port"),
        (node(1, "10.0.0.2"), "node 2 is at 10.0.0.2 and alive"),
        (node(2, "10.0.0.4"), "node 2 is at 10.0.0.2 and alive"),
    ],
)
def test_what_is_refused_says_why(said: Announcement, told: str) -> None:
    """Each refusal has its own words, and changes nothing."""
    made = board(node(2, "10.0.0.2"))
    taken = announcing.take(made, said, held={"10.0.0.2"})
    assert told in taken.refused
    assert taken.board == made


def test_a_node_that_came_back_elsewhere_takes_its_own_place() -> None:
    """A container that was made anew has another address; the old one is not held any more."""
    made = board(node(1, "10.0.0.1"), node(1, "10.0.0.5"))
    assert made.nodes == (node(1, "10.0.0.5"),)


def test_an_address_that_was_given_to_another_node_moves() -> None:
    """Addresses are used again: one address is one node."""
    made = board(node(1, "10.0.0.1"), node(2, "10.0.0.1"))
    assert made.nodes == (node(2, "10.0.0.1"),)


def test_a_full_board_makes_room_only_for_who_can_be_missed() -> None:
    """Where all are known, a stranger without a number replaces a stranger that is not held."""
    made = board(node(None, "10.0.0.1"), node(None, "10.0.0.2"))
    assert announcing.take(made, node(None, "10.0.0.3"), held={"10.0.0.1"}).board.nodes == (
        node(None, "10.0.0.1"), node(None, "10.0.0.3"),
    )  # fmt: skip
    held = {"10.0.0.1", "10.0.0.2"}
    assert "all 2 nodes" in announcing.take(made, node(None, "10.0.0.3"), held).refused


def test_those_who_are_missing_are_named() -> None:
    """By their numbers, in runs; without numbers by how many they are."""
    made = board(node(2, "10.0.0.2"), count=8)
    assert announcing.missing(made) == "nodes 1, 3-7 have not announced themselves"
    assert announcing.missing(board(node(1, "10.0.0.1"))) == "node 2 has not announced itself"
    nameless = board(node(None, "10.0.0.1"))
    assert announcing.missing(nameless) == "1 of 2 nodes has not announced itself"
    odd = board(*(node(n, f"10.0.0.{n}") for n in range(1, 40, 2)), count=40)
    assert "and 11 more" in announcing.missing(odd)


def test_pauses_grow_and_are_bounded() -> None:
    """A launcher that is not there yet is tried soon; one that has heard has time to call back."""
    for heard, longest in ((False, 5.0), (True, 30.0)):
        pauses = [announcing.pause_s(tries, heard=heard) for tries in range(10_000)]
        assert pauses == sorted(pauses)
        assert pauses[-1] == longest
    assert announcing.pause_s(0, heard=False) < 0.5


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("10.0.0.1", "10.0.0.1", 22),
        ("main:2222", "main", 2222),
        ("fd00::1", "fd00::1", 22),
        ("[fd00::1]:2222", "fd00::1", 2222),
    ],
)
def test_targets(text: str, host: str, port: int) -> None:
    """A host, with its port or without, as people write it."""
    assert announcing.target(text, 22) == (host, port)


@given(st.text(max_size=30))
def test_any_target_is_a_host_or_an_error(text: str) -> None:
    """What ssh is called with is never an option, and never a port that does not exist."""
    try:
        host, port = announcing.target(text, 22)
    except ConfigError:
        return
    assert host
    assert not host.startswith("-")
    assert 0 < port <= 65535


@pytest.mark.parametrize(
    "text", ["", ":22", "a:", "a:0", "a:70000", "-oProxyCommand=x", "[fd00::1"]
)
def test_targets_that_are_none(text: str) -> None:
    """One clear line says what to write."""
    with pytest.raises(ConfigError, match="--announce-to"):
        announcing.target(text, 22)


def test_sources_in_words() -> None:
    """`announce:N` names N others, `announce:N:OWN` N nodes of which this is one."""
    assert parse_source("announce:3", 0) == Announced(count=3)
    assert parse_source("announce:3:1", 0) == Announced(count=3, own=1)
    assert Announced(count=3, own=1).awaited == 2


@pytest.mark.parametrize(
    "text", ["", "0", "x", "3:", "3:3", "3:x", "-1", "²", "9999999999", "3:1:1"]
)
def test_sources_that_are_none(text: str) -> None:
    """What cannot be is refused, with the form that can."""
    with pytest.raises(ConfigError, match="announce:N"):
        announced.parse(f"announce:{text}")


@given(st.none() | st.integers(0, 99), st.integers(0, 65535), st.ip_addresses().map(str))
def test_announcements_arrive_as_they_were_sent(index: int | None, port: int, address: str) -> None:
    """The link carries what a node says."""
    said = Announcement(address=address, port=port, index=index)
    got = messages.decode(messages.announce_message(said).encode())
    assert got is not None
    assert messages.read_announcement(got) == said


@given(st.dictionaries(st.sampled_from(["address", "port", "index", "x"]), json_values))
def test_any_announcement_is_of_the_right_form_or_none(body: dict[str, object]) -> None:
    """No JSON raises, and what gets through can be judged."""
    said = messages.read_announcement(Message(kind=messages.ANNOUNCE, body=body))
    assert said is None or announcing.take(board(), said, held=()) is not None
