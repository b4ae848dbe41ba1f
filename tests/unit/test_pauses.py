"""How long a connection may take, and the next after it."""

from __future__ import annotations

from mpiboot.roles.attempts import Pauses


def test_connections_that_get_no_answer_stay_short_but_for_some() -> None:
    """A host that comes up is found within 0.6 s; a way that takes seconds gets its time, too."""
    pauses = Pauses(lambda: 1, lambda: 0.0)
    tried = []
    for _ in range(30):
        tried.append(pauses.connect_s)
        pauses.unanswered(10.0)
    assert tried[0] == 0.3
    assert sorted(set(tried[1:])) == [0.6, 10.0]
    assert tried.count(10.0) == 2


def test_no_connection_takes_longer_than_the_bound() -> None:
    """--attempt-timeout bounds the short ones, too."""
    pauses = Pauses(lambda: 1, lambda: 0.0)
    pauses.unanswered(0.2)
    assert pauses.connect_s == 0.2
