"""Output frames: what the wrappers write, cut anywhere and mixed with mpirun's own words."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.link.wrap.output import PAYLOAD, frame
from mpiboot.link.wrap.pipe import LARGEST
from mpiboot.plan import frames
from mpiboot.plan.frames import Frames, Order, Record, Text

NONCE = "5f3c9a"
RANKS = st.integers(-1, 3)
STREAMS = st.sampled_from(["o", "e", "h"])
# Bytes that matter to the parser come often.
BYTES = st.lists(
    st.one_of(
        st.sampled_from(
            [b"\n", b"\r", b"\x1e", b"\x1d", b"\x1f", b"\0", b"\x1e5f3c9a 1 o 5 3\x1f"]
        ),
        st.binary(max_size=20),
    ),
    max_size=8,
).map(b"".join)
RECORDS = st.builds(
    Record, RANKS, STREAMS, st.integers(0, 2**45), BYTES,
    run=st.integers(0, 2**45), serial=st.integers(0, 2**38),
)  # fmt: skip
# mpirun's own words may be anything but our mark.
TEXTS = st.builds(Text, BYTES.map(lambda data: data.replace(NONCE.encode(), b"")))


def written(record: Record) -> bytes:
    place = record.run, record.serial, record.time_ms
    return frame(NONCE.encode(), record.rank, record.stream.encode(), place, record.data)


def read(chunks: list[bytes]) -> list[Text | Record]:
    made = Frames(NONCE)
    return [item for chunk in chunks for item in made.feed(chunk)] + made.end()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def text_of(items: list[Text | Record]) -> bytes:
    return b"".join(item.data for item in items if isinstance(item, Text))


@given(
    st.lists(st.one_of(RECORDS, TEXTS), max_size=12), st.lists(st.integers(0, 10**6), max_size=30)
)
def test_every_byte_comes_out_where_it_belongs(
    items: list[Text | Record], places: list[int]
) -> None:
    """Any mixture of frames and text, cut anywhere, gives the same records and the same text."""
    stream = b"".join(written(i) if isinstance(i, Record) else i.data for i in items)
    found = read(cut(stream, places))
    assert [i for i in found if isinstance(i, Record)] == [
        i for i in items if isinstance(i, Record)
    ]
    assert text_of(found) == text_of(items)


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_garbage_is_text(chunks: list[bytes]) -> None:
    """Whatever is no frame is text, byte for byte."""
    assert text_of(read(chunks)) == b"".join(chunks)


@given(st.lists(RECORDS, min_size=1, max_size=6), st.data())
def test_broken_frame_harms_no_other(records: list[Record], data: st.DataObject) -> None:
    """A frame that lost its last byte is text, and all others are found."""
    broken = data.draw(st.integers(0, len(records) - 1))
    pieces = [written(record) for record in records]
    # Bytes that look like a frame may stand in a payload; these here must not.
    kept = [r for n, r in enumerate(records) if n != broken]
    pieces[broken] = written(Record(0, "o", 1, b"plain"))[:-1]
    found = read([b"".join(pieces)])
    assert [item for item in found if isinstance(item, Record)] == kept
    assert text_of(found) == pieces[broken]


def test_text_is_not_held_back() -> None:
    """Text is handed on at once, up to where a frame may have begun; a record once it is whole."""
    frames = Frames(NONCE)
    assert frames.feed(b"mpirun says\n") == [Text(b"mpirun says\n")]
    record = Record(2, "o", 1, b"line\n")
    piece = written(record)
    for number in range(1, len(piece)):
        assert frames.feed(b"text" + piece[:number]) == [Text(b"text")]
        assert frames.feed(piece[number:]) == [record]
    assert frames.feed(b"\x1eother\n") == [Text(b"\x1eother\n")]


def test_memory_is_bounded() -> None:
    """A header that promises more than a frame may hold, or never ends, keeps nothing."""
    for endless in (b"\x1e5f3c9a 1 o 5 9999\x1f", b"\x1e5f3c9a 1 o 5 4096\x1f", b"\x1e5f3c9a 1 "):
        frames = Frames(NONCE)
        text = text_of(frames.feed(endless) + frames.feed(b"7" * 100_000))
        assert len(text) > 95_000


def test_frames_are_written_whole() -> None:
    """The longest frame is one that a pipe takes in one piece."""
    longest = frame(b"n" * 32, 2**31 - 1, b"o", (2**43, 2**38, 2**43), b"x" * PAYLOAD)
    assert len(longest) <= LARGEST
    assert b"\0" not in longest


@given(st.permutations(range(1, 12)), st.lists(st.integers(1, 11), max_size=10))
def test_pieces_that_come_twice_or_late_come_once_and_in_order(
    order: list[int], again: list[int]
) -> None:
    """However they arrive, each piece of a run is given out once, after all before it."""
    pieces = Order()
    found = []
    for serial in [*order, *again]:
        found += pieces.add(Record(1, "o", 0, b"", run=7, serial=serial))
    assert [one.serial for one in found] == list(range(1, 12))
    assert pieces.count(Record(1, "z", 0, b"", run=7, serial=11)) == 11
    assert pieces.end() == []


def test_a_piece_that_never_comes_does_not_hold_the_others_for_ever() -> None:
    """At the end all that came is given out; another run of the rank begins anew."""
    pieces = Order()
    assert pieces.add(Record(0, "o", 0, b"b", run=1, serial=2)) == []
    assert pieces.count(Record(0, "z", 0, b"", run=1, serial=2)) == 0
    (second,) = pieces.add(Record(0, "o", 0, b"a", run=2, serial=1))
    assert second.data == b"a"
    assert [one.data for one in pieces.end()] == [b"b"]


def test_a_time_beyond_all_calendars_is_no_frame() -> None:
    """It could not be shown as a date, and the one who shows it must not fail."""
    record = Record(1, "o", 999_999_999_999_999, b"x", run=1, serial=1)
    assert text_of(read([written(record)])) == written(record)


def test_pieces_of_runs_without_end_take_no_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Early pieces of ever more runs are given up, and the runs heard least lately are forgotten."""
    monkeypatch.setattr(frames, "_MOST_EARLY_OF_ALL", 100)
    monkeypatch.setattr(frames, "_MOST_RUNS", 100)
    order, given = Order(), 0
    for run in range(1000):
        given += len(order.add(Record(1, "o", 0, b"", run=run, serial=2)))
        assert order.waiting == run + 1 - given <= 101
    for run in range(1000):
        given += len(order.add(Record(2, "o", 0, b"", run=run, serial=1)))
        assert order.runs <= 101
    assert given + len(order.end()) == 2000
