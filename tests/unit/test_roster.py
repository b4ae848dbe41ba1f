"""What is counted of a wait as news come is what a look at all hosts would count."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.hosts import Host
from mpiboot.plan import gather
from mpiboot.plan.gather import Reach, Seen, Terms, Verb
from mpiboot.plan.roster import Roster, undecided

_NAMES = ("a", "b", "c", "d")
_SEEN = st.builds(
    lambda name, reach, strikes, after, leased: Seen(
        host=Host(name=name),
        reach=reach,
        strikes=strikes,
        ready_after_s=after if reach.ready else None,
        leased=leased,
    ),
    st.sampled_from(_NAMES),
    st.sampled_from(Reach),
    st.integers(0, 4),
    st.sampled_from([0.0, 1.0, 2.0, 3.0]),
    st.booleans(),
)
_NEWS = st.lists(st.one_of(_SEEN, st.sampled_from(_NAMES)), max_size=12)
_TERMS = st.builds(
    Terms,
    expected=st.one_of(st.none(), st.integers(0, 5)),
    deadline_s=st.just(10.0),
    strikes=st.integers(0, 3),
    quorum=st.integers(0, 4),
    patience_s=st.sampled_from([None, 1.0]),
)


def after(news: list[Any]) -> Roster:
    """Take in some news: a host that was seen, or the name of one that is gone."""
    roster = Roster()
    for one in news:
        if isinstance(one, Seen):
            roster[one.host.name] = one
        else:
            roster.pop(one, None)
        assert roster.longest_s >= 0  # asked between the news, too
    return roster


@given(_NEWS)
def test_counts_are_those_of_a_look_at_all(news: list[Any]) -> None:
    """However hosts come, change and go, each count is that of the hosts that are there."""
    roster = after(news)
    seen = list(roster.values())
    assert roster.ready == sum(one.reach.ready for one in seen)
    assert roster.pending == sum(not one.reach.ready for one in seen)
    assert roster.faulty == sum(one.reach.permanent for one in seen)
    assert roster.unleased == sum(not one.leased for one in seen)
    assert roster.longest_s == max((one.ready_after_s or 0.0 for one in seen), default=0.0)


@given(_NEWS, _TERMS, st.sampled_from([0.0, 5.0, 10.0, 11.0]))
def test_what_counts_alone_decide_is_to_wait(
    news: list[Any], terms: Terms, waited_s: float
) -> None:
    """Where nobody looks at all hosts, a look would have said to wait, and not sooner to look again."""
    roster = after(news)
    if undecided(roster, terms, waited_s):
        seen = list(roster.values())
        assert gather.decide(seen, terms, waited_s).verb is Verb.WAIT
        assert gather.look_again_s(seen, terms) == terms.deadline_s


def test_most_news_of_a_wait_need_no_look_at_all() -> None:
    """Of many hosts that become ready one by one only the last one asks for a look at all of them."""
    names = [f"w{number}" for number in range(500)]
    roster = Roster(Seen(host=Host(name=name)) for name in names)
    terms = Terms(expected=len(names), deadline_s=60, strikes=3)
    looks = 0
    for name in names:
        roster[name] = Seen(host=Host(name=name), reach=Reach.READY, ready_after_s=1.0)
        looks += not undecided(roster, terms, 1.0)
    assert looks == 1


@given(st.permutations(_NAMES), st.lists(st.sampled_from((*_NAMES, "x")), max_size=6))
def test_hosts_are_put_in_an_order(before: list[str], wanted: list[str]) -> None:
    """Those that are named come first, in that order; the others stay as they were."""
    roster = Roster(Seen(host=Host(name=name)) for name in before)
    roster.arrange(wanted)
    first = [name for name in dict.fromkeys(wanted) if name in before]
    assert list(roster) == first + [name for name in before if name not in first]
    assert [one.host.name for one in roster.values()] == list(roster)
