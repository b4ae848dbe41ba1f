"""How long ranks are given to start."""

from __future__ import annotations

import pytest

from mpiboot.plan.clocks import Clock
from mpiboot.plan.ranks import Advice, Book, Terms, advise

TERMS = Terms(start_s=120.0, linger_s=3.0, hindered_s=10.0)


def advised(now: float, *, hindered: bool, started: int = 0, terms: Terms = TERMS) -> Advice:
    """Ask for advice on a job of two ranks whose mpirun began at 1000."""
    book = Book(2, slots={"w1": 2})
    for rank in range(started):
        book.hear("w1", {"rank": rank, "event": "started"}, 1001.0, 1001.0, Clock())
    return advise(
        book, terms, begun=1000.0, quiet_since=1000.0, now=now, hindered=lambda: hindered
    )  # fmt: skip


@pytest.mark.parametrize(
    ("now", "hindered", "started", "expected"),
    [
        (1001.0, False, 0, Advice(until=1010.0)),
        (1011.0, False, 0, Advice(until=1120.0)),
        (1001.0, True, 0, Advice(until=1010.0)),
        (1011.0, True, 0, Advice(too_late=True, patience_s=10.0)),
        (1011.0, True, 1, Advice(until=1120.0)),
        (1011.0, True, 2, Advice()),
        (1121.0, False, 0, Advice(too_late=True, patience_s=120.0)),
        (1121.0, False, 1, Advice(too_late=True, patience_s=120.0)),
    ],
)
def test_patience_with_ranks(now: float, hindered: bool, started: int, expected: Advice) -> None:
    """An mpirun that was refused a process, and of which no rank is seen, gets less of it."""
    assert advised(now, hindered=hindered, started=started) == expected


@pytest.mark.parametrize("start_s", [0.0, 5.0])
def test_the_users_own_patience(start_s: float) -> None:
    """For ever is for ever; less than ours is less."""
    terms = Terms(start_s=start_s, linger_s=3.0, hindered_s=10.0)
    expected = Advice(too_late=True, patience_s=5.0) if start_s else Advice()
    assert advised(1011.0, hindered=True, terms=terms) == expected
