"""What a host says of ranks counts for its own ones, and takes no more room than they do."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan.clocks import Clock
from mpiboot.plan.ranks import Book

SLOTS = {"honest": 4, "liar": 1}


def hear(book: Book, host: str, event: str, rank: object, **more: object) -> bool:
    return book.hear(host, {"event": event, "rank": rank, **more}, 1.0, 1.0, Clock())


def test_an_end_counts_from_the_host_of_the_rank_only() -> None:
    """Another host can neither fail a rank nor make it a success."""
    book = Book(2, slots={"w1": 1, "w2": 1})
    assert hear(book, "w1", "started", 0)
    assert not hear(book, "w2", "ended", 0, code=1)
    assert hear(book, "w1", "ended", 0, code=0)
    assert [(end.host, end.code) for end in book.ranks().ends] == [("w1", 0)]
    assert book.disbelieved == {"w2": 1}


@pytest.mark.parametrize("event", ["started", "ended"])
def test_a_host_that_claims_all_ranks_keeps_as_many_as_it_has_slots(event: str) -> None:
    """Also where it is the first to speak: the ranks go to those who report them and have the room."""
    book = Book(5, slots=SLOTS)
    for rank in range(5):
        hear(book, "liar", event, rank, code=0)
    for rank in range(4):
        hear(book, "honest", "started", rank)
    assert [book.ranks().started[rank] for rank in range(5)] == [*["honest"] * 4, "liar"]
    assert {end.rank for end in book.ranks().ends} <= {4}
    assert book.disbelieved["liar"] == 4


def test_a_host_with_more_ranks_than_slots_is_heard_where_nobody_else_is() -> None:
    """Where the user's own words put more of them there, that is right."""
    book = Book(3, slots={"w1": 1})
    assert all(hear(book, "w1", "started", rank) for rank in range(3))
    assert book.all_started


def test_a_launch_of_the_users_own_is_not_begun_anew_by_another_host() -> None:
    """What is known of a rank that runs stays, whoever claims that it starts elsewhere."""
    book = Book(0, own=True)
    assert hear(book, "w1", "started", 0)
    assert not hear(book, "w2", "started", 0)
    assert book.ranks().started == {0: "w1"}
    hear(book, "w1", "ended", 0, code=0)
    assert hear(book, "w2", "started", 0)
    assert book.ranks().started == {0: "w2"}


def test_last_words_are_kept_of_the_first_ends_of_a_host() -> None:
    """A million ranks that fail with 4 KiB of words each would be gigabytes."""
    book = Book(0, own=True)
    for rank in range(500):
        hear(book, "w1", "ended", rank, code=1, stderr="x" * 4096)
    told = [end.rank for end in book.ranks().ends if end.stderr]
    assert told == list(range(64))
    assert len(book.ranks().ends) == 500


BODIES = st.fixed_dictionaries(
    {
        "event": st.sampled_from(["started", "ended", "shown"]) | st.text(max_size=3),
        "rank": st.integers(-1, 9)
        | st.lists(st.integers(), max_size=1)
        | st.none()
        | st.booleans(),
    },
    optional={"code": st.integers(-1, 300), "signal": st.integers(-1, 70), "stderr": st.text()},
)


@given(
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(["honest", "liar", "x"]), BODIES), max_size=40),
)
def test_a_book_is_sound_whatever_is_reported(
    own: bool, reports: list[tuple[str, Mapping[str, object]]]
) -> None:
    """Every end is of a rank that has started on that host, and there are no more ranks than np."""
    book = Book(0 if own else 8, own=own, slots=SLOTS)
    for host, body in reports:
        book.hear(host, body, 1.0, 1.0, Clock())
    seen = book.ranks()
    assert all(seen.started[end.rank] == end.host for end in seen.ends)
    assert own or all(0 <= rank < 8 for rank in seen.started)
