"""The link's lines are read back as written; whatever else arrives is no message."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.link import control, messages
from mpiboot.link.messages import Message
from mpiboot.model.facts import Facts, from_json
from mpiboot.plan import evidence
from mpiboot.plan.clocks import Clock
from mpiboot.plan.fencing import Claim
from mpiboot.plan.modes import Asked, Verb
from mpiboot.plan.ranks import Book
from mpiboot.plan.release import Over

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.integers(0, 255), st.booleans(), st.booleans())
def test_over_round_trips(code: int, final: bool, ran: bool) -> None:
    """The end of an attempt arrives as it was sent."""
    over = Over(code=code, final=final, ran=ran)
    got = messages.decode(messages.over_message(over).encode())
    assert got is not None
    assert messages.read_over(got) == over


def test_facts_round_trip() -> None:
    """What a worker says of itself arrives whole."""
    facts = Facts(
        hostname="w1", addresses=("10.0.0.1", "fd00::1"), cpus=1.5, gpus=2, memory_bytes=1 << 34,
        shm_bytes=1 << 26, nofile=-1, memlock_bytes=65536, mpi="mpirun (Open MPI) 4.1.4",
        path="/opt/ü/bin:/bin", ld_library_path="/l", version="0.1.0",
    )  # fmt: skip
    line = messages.facts_message(facts, 1).encode()
    assert line.count(b"\n") == 1
    got = messages.decode(line)
    assert got is not None
    assert messages.read_facts(got) == facts
    assert facts.auto_slots == 2
    assert Facts(cpus=0.5).auto_slots == 1


@given(st.dictionaries(st.sampled_from([*Facts().to_json(), "other"]), json_values))
def test_any_facts_are_bounded(data: dict[str, object]) -> None:
    """A worker's words are checked: wrong types and sizes are left out, never passed on."""
    facts = from_json(data)
    assert 0 <= facts.cpus <= 100_000
    assert 0 <= facts.gpus <= 1024
    assert len(facts.hostname) <= 255
    assert facts.hostname.isprintable()
    assert all(isinstance(one, str) for one in facts.addresses)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_message_or_none(line: bytes) -> None:
    """No bytes raise."""
    got = messages.decode(line)
    assert got is None or got.kind in messages.KINDS
    assert isinstance(messages.foreign_version(line), str)


@given(json_values)
def test_any_json_is_a_message_or_none(value: object) -> None:
    """No JSON raises, and no field of a wrong type gets through."""
    line = json.dumps(value).encode()
    assert messages.decode(line) is None or isinstance(value, dict)
    message = Message(kind=messages.OVER, body=value if isinstance(value, dict) else {})
    messages.read_over(message)
    messages.read_facts(message)
    assert isinstance(message.text("launcher"), str)


def test_another_version_is_told_from_junk() -> None:
    """Unlike versions are named; a line of no version is just junk."""
    assert messages.foreign_version(b'{"v":3,"kind":"hello"}') == "3"
    assert messages.foreign_version(Message(kind=messages.BEAT).encode()) == ""
    assert messages.foreign_version(b"hello") == ""
    assert messages.decode(b'{"v":3,"kind":"hello"}') is None


@pytest.mark.parametrize("body", [{}, {"code": True, "final": True, "ran": True},
                                  {"code": 256, "final": True, "ran": True},
                                  {"code": 1, "final": 1, "ran": True}])  # fmt: skip
def test_a_broken_end_is_no_end(body: dict[str, object]) -> None:
    """A worker does not leave on a message that it cannot read."""
    assert messages.read_over(Message(kind=messages.OVER, body=body)) is None


def test_a_line_that_is_too_long_is_no_message() -> None:
    """Memory is bounded by the longest line."""
    assert messages.decode(Message(kind=messages.BEAT, body={"x": "a" * 70000}).encode()) is None


@pytest.mark.parametrize("version", ["1\\n[mpiboot] forged", "\\u001b[2J", "x" * 500])
def test_a_foreign_version_adds_no_line(version: str) -> None:
    """It is quoted in what people read."""
    told = messages.foreign_version(f'{{"v":"{version}"}}'.encode())
    assert told.isprintable()
    assert len(told) <= 20


READERS = (
    messages.read_facts, messages.read_claim, messages.read_testimony, messages.read_announcement,
    messages.read_over, control.read_asked,
)  # fmt: skip
FIELDS = st.sampled_from([
    "facts", "ticket", "generation", "id", "name", "address", "port", "index", "code", "final", "ran",
    "do", "command", "release", "time_ms", "late_ms", "used", "limit", "kills", "rank", "event", "stderr",
])  # fmt: skip


@given(st.dictionaries(FIELDS, json_values | st.integers(-(2**70), 2**70)))
def test_no_body_breaks_a_reader(body: dict[str, object]) -> None:
    """Each reader takes a value of the right form out of any body, or none."""
    message = Message(kind=messages.RANK, body=body)
    for read in READERS:
        read(message)
    messages.memory_of(body)
    messages.note_time(message, Clock())
    passed = messages.rank_message(body)
    assert len(passed.encode()) < messages.MAX_LINE
    assert Book(4).hear("w", body, 1.0, 1.0, Clock()) in (True, False)


SHORT = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20
)


@given(st.integers(0, 1 << 53), SHORT, SHORT)
def test_a_claim_round_trips(generation: int, launcher_id: str, name: str) -> None:
    """A claim arrives as it was made."""
    claim = Claim(generation=generation, launcher_id=launcher_id, name=name)
    got = messages.decode(messages.claim_message(claim).encode())
    assert got is not None
    assert messages.read_claim(got) == claim


@given(st.integers(0, 9), st.integers(0, 1 << 50), st.none() | st.integers(0, 9))
def test_a_testimony_round_trips(sessions: int, peak: int, kills: int | None) -> None:
    """What a worker has seen arrives whole."""
    said = evidence.Testimony(sessions=sessions, peak_bytes=peak, oom_kills=kills)
    got = messages.decode(messages.testimony_message(said).encode())
    assert got is not None
    assert messages.read_testimony(got) == said


@given(st.sampled_from(list(Verb)), st.lists(st.text(max_size=20), max_size=5), st.booleans())
def test_a_command_round_trips(verb: Verb, words: list[str], release: bool) -> None:
    """The words of a command are those that were asked, each of them one word, whatever is in it."""
    asked = Asked(verb=verb, command=tuple(words), release=release)
    line = control.asked_message(asked).encode()
    assert line.count(b"\n") == 1
    got = messages.decode(line)
    assert got is not None
    assert control.read_asked(got) == asked
