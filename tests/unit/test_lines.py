"""What ranks write, cut into lines and halves of lines: by bytes and by the clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan import lines as module
from mpiboot.plan.frames import Record
from mpiboot.plan.lines import HOLD_S, Lines

PIECES = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"ab", b"\xc3\xbc", b"\xc3", b"\xf0\x9f", b"\xff"]),
    max_size=8,
).map(b"".join)
RECORDS = st.builds(Record, st.integers(-1, 2), st.sampled_from(["o", "e"]), st.just(1), PIECES)


@given(st.lists(st.tuples(RECORDS, st.floats(0, 1)), max_size=20), st.booleans())
def test_each_streams_bytes_come_out_in_their_order(
    given_records: list[tuple[Record, float]], live: bool
) -> None:
    """Together they are what that stream had, and what does not end with a newline had waited."""
    lines, now = Lines(live=live), 0.0
    found: list[Record] = []
    for record, later in given_records:
        now += later
        found += lines.late(now)
        found += lines.add(record, now)
        assert lines.due > now
    found += lines.end()
    for key in {(r.rank, r.stream) for r, _ in given_records}:
        wrote = b"".join(r.data for r, _ in given_records if (r.rank, r.stream) == key)
        parts = [one.data for one in found if (one.rank, one.stream) == key]
        assert b"".join(parts) == wrote
        assert b"" not in parts


@given(st.lists(RECORDS, max_size=20))
def test_while_no_time_passes_lines_are_whole(records: list[Record]) -> None:
    """Whatever the chunks, what is given out before the end are whole lines."""
    lines = Lines(live=False)
    for record in records:
        assert all(one.data.endswith(b"\n") for one in lines.add(record, 0.0))


def test_a_line_has_the_time_of_its_beginning() -> None:
    """A line that came in pieces has the time of the first of them."""
    lines = Lines()
    assert lines.add(Record(0, "o", 10, b"a"), 0.0) == []
    assert lines.add(Record(1, "o", 11, b"other\n"), 0.0) == [Record(1, "o", 11, b"other\n")]
    assert lines.add(Record(0, "o", 20, b"b\nc\nd"), 0.0) == [
        Record(0, "o", 10, b"ab\n"),
        Record(0, "o", 20, b"c\n"),
    ]
    assert lines.end() == [Record(0, "o", 20, b"d")]
    assert lines.end() == []


def test_a_prompt_is_given_out_after_a_while() -> None:
    """Half a line waits for HOLD_S since it began, however it grows, and no longer."""
    lines = Lines()
    assert lines.due == float("inf")
    assert lines.add(Record(0, "o", 1, b"Pass"), 5.0) == []
    assert lines.add(Record(0, "o", 2, b"word: "), 5.0 + HOLD_S / 2) == []
    assert lines.due == 5.0 + HOLD_S
    assert lines.late(5.0 + HOLD_S * 0.9) == []
    assert lines.late(5.0 + HOLD_S) == [Record(0, "o", 1, b"Password: ")]
    assert lines.due == float("inf")


def test_a_progress_bar_is_given_out_at_once() -> None:
    """From its first carriage return on a line does not wait; a new line does again."""
    lines = Lines()
    for piece in (b"\r10%", b"\r20%", b" more"):
        assert lines.add(Record(0, "e", 1, piece), 0.0) == [Record(0, "e", 1, piece)]
    assert lines.add(Record(0, "e", 1, b"\nhalf"), 0.0) == [Record(0, "e", 1, b"\n")]
    assert lines.due == HOLD_S
    assert Lines(live=False).add(Record(0, "e", 1, b"\r10%"), 0.0) == []


def test_a_character_is_not_parted() -> None:
    """Half of one waits for the other half once more, then it is shown as it is."""
    lines = Lines()
    assert lines.add(Record(0, "o", 1, "ab 猫".encode()[:-1]), 0.0) == []
    assert lines.late(HOLD_S) == [Record(0, "o", 1, b"ab ")]
    assert lines.add(Record(0, "o", 2, "猫!".encode()[2:]), HOLD_S) == []
    assert lines.late(9.0) == [Record(0, "o", 1, "猫!".encode())]
    lines.add(Record(0, "o", 3, b"c\xc3"), 9.0)
    assert [one.data for one in lines.late(10.0)] == [b"c"]
    assert [one.data for one in lines.late(11.0)] == [b"\xc3"]


def test_an_endless_line_comes_in_pieces() -> None:
    """A line that never ends does not stay in memory."""
    lines = Lines()
    piece = Record(0, "o", 1, b"x" * 4000)
    found = [line for _ in range(1000) for line in lines.add(piece, 0.0)]
    assert 2 <= len(found) <= 4
    assert sum(len(line.data) for line in found + lines.end()) == 4_000_000


def test_lines_without_end_take_no_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half lines of very many ranks are shown as they are rather than kept."""
    monkeypatch.setattr(module, "_MOST_PARTS", 1000)
    lines, shown = Lines(), 0
    for rank in range(1000):
        shown += sum(len(one.data) for one in lines.add(Record(rank, "o", 0, b"x" * 10), 0.0))
        assert lines.kept == 10 * (rank + 1) - shown <= 1000
    assert shown + sum(len(one.data) for one in lines.end()) == 10_000
