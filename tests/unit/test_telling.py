"""Without a table the wait says a line when something changes, and else now and then."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from mpiboot.model.hosts import Host
from mpiboot.plan import awaited, layout
from mpiboot.plan.gather import Reach, Seen
from mpiboot.plan.roster import Roster
from mpiboot.plan.telling import News, Told, due_s

NOBODY = News(ready=0, expected=4, reasons=frozenset({"connection refused"}))
ONE = News(ready=1, expected=4, reasons=frozenset({"connection refused"}))


def said_at(news: list[tuple[float, News]], until_s: float) -> list[float]:
    """Return when lines are said where the news change at these times; looked at ten times a second."""
    told, said = Told(), []
    for tick in range(int(until_s * 10) + 1):
        now_s = tick / 10
        known = [one for at_s, one in news if at_s <= now_s][-1]
        if now_s >= due_s(told, known):
            told = told.again(known, now_s)
            said.append(now_s)
    return said


def test_pauses_grow_where_nothing_changes() -> None:
    """The first line comes after five seconds; ten minutes of the same are a dozen lines."""
    lines = said_at([(0.0, NOBODY)], 600)
    assert lines[:6] == [5.0, 15.0, 35.0, 75.0, 135.0, 195.0]
    assert len(lines) == 12


def test_a_change_is_told_at_once() -> None:
    """A worker that comes in a quiet minute is told in that moment, and what else was due waits."""
    assert said_at([(0.0, NOBODY), (100.0, ONE)], 200) == [5.0, 15.0, 35.0, 75.0, 100.0, 160.0]


def test_a_new_reason_is_a_change() -> None:
    other = News(ready=0, expected=4, reasons=frozenset({"key refused"}))
    assert 100.0 in said_at([(0.0, NOBODY), (100.0, other)], 200)


def test_a_thousand_changes_are_few_lines() -> None:
    """Workers that come one by one for ten minutes: never two lines within five seconds."""
    come = [(at * 0.6, News(ready=at, expected=1000)) for at in range(1000)]
    lines = said_at(come, 600)
    assert min(b - a for a, b in itertools.pairwise(lines)) >= 5.0
    assert len(lines) < 45


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 500), st.integers(0, 3)), max_size=20))
def test_silence_is_never_longer_than_a_minute(changes: list[tuple[float, int]]) -> None:
    """Whatever changes, and when."""
    come = [(at_s, News(ready=ready, expected=3)) for at_s, ready in sorted(changes)]
    news = [(0.0, NOBODY), *come]
    told = Told()
    for tick in range(0, 600, 3):
        known = [one for at_s, one in news if at_s <= tick][-1]
        due = due_s(told, known)
        assert due - told.at_s <= 60.0
        assert due > told.at_s
        if tick >= due:
            told = told.again(known, float(tick))


def seen(name: str, reach: Reach, slots: int | None = None) -> Seen:
    return Seen(host=Host(name=name, slots=slots), reach=reach)


def test_reasons_of_a_roster_follow_its_hosts() -> None:
    """Who was not tried yet, or is ready, is no reason; a host that changes takes its reason away."""
    roster = Roster([seen("a", Reach.REFUSED), seen("b", Reach.UNTRIED), seen("c", Reach.READY)])
    assert roster.reasons == {"connection refused"}
    before = roster.changes
    roster["a"] = seen("a", Reach.KEY_REFUSED)
    assert roster.reasons == {"key refused"}
    assert roster.changes > before
    del roster["a"]
    assert roster.reasons == frozenset()


def test_the_worst_have_room_first() -> None:
    """What waiting will not heal, then who cannot be reached, then the untried, then the ready ones."""
    names = {
        "ready": Reach.READY, "late": Reach.NO_NAME, "new": Reach.UNTRIED,
        "wrong": Reach.WRONG_HOST_KEY, "plain": Reach.PLAIN, "later": Reach.REFUSED,
    }  # fmt: skip
    hosts = [seen(name, reach) for name, reach in names.items()]
    ordered = [one.host.name for one in awaited.worst_first(hosts, 9)]
    assert ordered == ["wrong", "late", "later", "new", "ready", "plain"]
    assert [one.host.name for one in awaited.worst_first(hosts, 2)] == ["wrong", "late"]
    assert awaited.worst_first(hosts, -1) == []


def test_slots_are_not_known_before_somebody_has_said() -> None:
    """The user's number stands at once; that of a host when it is ready."""
    assert layout.slots_of(seen("a", Reach.REFUSED), "auto") is None
    assert layout.slots_of(seen("a", Reach.REFUSED), "4") == 4
    assert layout.slots_of(seen("a", Reach.REFUSED, slots=2), "auto") == 2
    assert layout.slots_of(seen("a", Reach.PLAIN), "auto") == 1
