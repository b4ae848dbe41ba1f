"""Tags: whatever ranks write, in whatever pieces, each line has one owner and no byte is lost."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan.frames import OWN, Record
from mpiboot.plan.lines import Lines
from mpiboot.plan.screen import Screen

PIECES = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bc", b"+ ", b"x" * 30]), min_size=1, max_size=6
).map(b"".join)
RECORDS = st.builds(Record, st.integers(0, 2), st.just("o"), st.integers(0, 10**9), PIECES)
TAG = re.compile(rb"\[(\d+)\](\+)? ")
STAMP = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
STAMPED = re.compile(STAMP + rb" \[(\d+)\](\+)? ")


def untagged(text: bytes, tag: re.Pattern[bytes]) -> dict[int, bytes]:
    """Return what each rank wrote, by the rule of docs/logs.md: one owner a line, plus: goes on."""
    found: dict[int, bytes] = {}
    for line in text.removesuffix(b"\n").split(b"\n") if text else []:
        match = tag.match(line)
        assert match is not None, line
        owners = {int(one[1]) for one in tag.finditer(line)}
        assert len(owners) == 1, line
        rank = int(match[1])
        if match[2]:
            found[rank] = found[rank].removesuffix(b"\n")
        # A tag stands at the line's beginning and after carriage returns.
        rest = re.sub(rb"(\r)" + tag.pattern, rb"\1", line[match.end() :])
        found[rank] = found.get(rank, b"") + rest + b"\n"
    return found


@given(st.lists(RECORDS, max_size=25), st.booleans())
def test_tags_can_be_taken_off(records: list[Record], stamp: bool) -> None:
    """For any chunks of any ranks: each line is one rank's, and without tags it is what that wrote."""
    screen = Screen(tag=True, stamp=stamp)
    text = b"".join(screen.show(record) for record in records) + screen.interrupt()
    found = untagged(text, STAMPED if stamp else TAG)
    for rank in {record.rank for record in records}:
        wrote = b"".join(one.data for one in records if one.rank == rank)
        # The newline of a line that ended half is ours.
        assert found[rank] == (wrote if wrote.endswith(b"\n") else wrote + b"\n")


@given(st.lists(st.tuples(RECORDS, st.floats(0, 1)), max_size=25))
def test_tags_can_be_taken_off_what_waits_for_its_line(
    given_records: list[tuple[Record, float]],
) -> None:
    """The same with halves that wait, as they do in a job."""
    screen, lines, now, text = Screen(tag=True, stamp=False), Lines(), 0.0, b""
    for record, later in given_records:
        now += later
        due = lines.late(now) + lines.add(record, now)
        text += b"".join(map(screen.show, due))
    text += b"".join(map(screen.show, lines.end())) + screen.interrupt()
    found = untagged(text, TAG)
    for rank in {record.rank for record, _ in given_records}:
        wrote = b"".join(one.data for one, _ in given_records if one.rank == rank)
        assert found[rank] == (wrote if wrote.endswith(b"\n") else wrote + b"\n")


@given(st.lists(RECORDS, max_size=10))
def test_without_tags_no_byte_is_added(records: list[Record]) -> None:
    """What is shown is what was written."""
    screen = Screen(tag=False, stamp=False)
    assert b"".join(map(screen.show, records)) == b"".join(one.data for one in records)
    assert screen.interrupt() == b""


def shown(*pieces: tuple[int, bytes]) -> bytes:
    screen = Screen(tag=True, stamp=False)
    found = [screen.show(Record(rank, "o", 0, data)) for rank, data in pieces]
    return b"".join(found) + screen.interrupt()


def test_a_rank_that_goes_on_gets_no_second_tag() -> None:
    """A prompt and its answer are one line while nobody else writes."""
    assert shown((3, b"name? "), (3, b"x\n"), (3, b"y\n")) == b"[3] name? x\n[3] y\n"


def test_another_rank_begins_a_line_of_its_own() -> None:
    """A newline of ours stands between, and a plus says so; a newline that came late is not doubled."""
    assert shown((3, b"na"), (1, b"hi\n"), (3, b"me\n")) == b"[3] na\n[1] hi\n[3]+ me\n"
    assert shown((3, b"na"), (1, b"hi\n"), (3, b"\nnew\n")) == b"[3] na\n[1] hi\n[3] new\n"
    assert shown((3, b"na"), (1, b"hi"), (3, b"\n"), (1, b"!\n")) == b"[3] na\n[1] hi!\n"


def test_what_a_carriage_return_overwrites_is_tagged_anew() -> None:
    """A progress bar keeps its tag, of either habit: return first, or return last."""
    assert shown((0, b"\r10%"), (0, b"\r20%\n")) == b"[0] \r[0] 10%\r[0] 20%\n"
    assert shown((0, b"10%\r"), (0, b"20%\r"), (0, b"\n")) == b"[0] 10%\r[0] 20%\r\n"
    assert shown((0, b"10%\r"), (1, b"x\n"), (0, b"20%\r\n")) == b"[0] 10%\r\n[1] x\n[0]+ 20%\r\n"
    assert shown((0, b"dos\r\nlines\r\n")) == b"[0] dos\r\n[0] lines\r\n"


def test_words_of_mpirun_are_nobodys_line() -> None:
    """They get no tag and stand on a line of their own."""
    screen = Screen(tag=True, stamp=False)
    pieces = ((0, b"half"), (OWN, b"mpirun: x\nand "), (OWN, b"more"), (0, b"way\n"))
    text = b"".join(screen.show(Record(rank, "e", 0, data)) for rank, data in pieces)
    assert text == b"[0] half\nmpirun: x\nand more\n[0]+ way\n"


def test_the_two_streams_of_a_rank_do_not_mix_in_a_line() -> None:
    """On a terminal a warning does not go into the middle of a prompt."""
    screen = Screen(tag=True, stamp=False)
    pieces = (("o", b"name? "), ("e", b"warning\n"), ("o", b"x\n"))
    text = b"".join(screen.show(Record(0, stream, 0, data)) for stream, data in pieces)
    assert text == b"[0] name? \n[0] warning\n[0]+ x\n"
