"""The wait goes on, launches or gives up, by what is known of each host and a clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError, ExitCode
from mpiboot.model.hosts import Host
from mpiboot.model.record import replace
from mpiboot.plan import gather
from mpiboot.plan.gather import Reach, Seen, Terms, Verb

TERMS = Terms(expected=2, deadline_s=60, strikes=3)


def seen(
    name: str, reach: Reach, *, strikes: int = 1, detail: str = "", after: float = 1.5
) -> Seen:
    return Seen(
        host=Host(name=name),
        reach=reach,
        strikes=strikes,
        detail=detail,
        ready_after_s=after if reach.ready else None,
    )


def test_go_when_all_are_ready() -> None:
    """An agent's host and a plain sshd's are both good enough to launch on."""
    decision = gather.decide([seen("a", Reach.READY), seen("b", Reach.PLAIN)], TERMS, 1)
    assert decision.verb is Verb.GO
    assert [one.host.name for one in decision.chosen] == ["a", "b"]


def test_wait_while_one_is_missing() -> None:
    """A transient fault is waited for, however often it is seen."""
    hosts = [seen("a", Reach.READY), seen("b", Reach.REFUSED, strikes=1000)]
    assert gather.decide(hosts, TERMS, 59).verb is Verb.WAIT


def test_more_ready_than_expected_takes_the_first() -> None:
    """A name that answers with a left-over address does not stop the job."""
    hosts = [seen("a", Reach.NO_ROUTE), seen("b", Reach.READY), seen("c", Reach.READY)]
    decision = gather.decide(hosts, TERMS, 1)
    assert decision.verb is Verb.GO
    assert [one.host.name for one in decision.chosen] == ["b", "c"]


def test_three_strikes_end_it_early_with_the_remedy() -> None:
    """A permanent fault seen three times in a row fails the wait, naming host, fault and remedy."""
    hosts = [seen("a", Reach.READY), seen("b", Reach.KEY_REFUSED, strikes=3, detail="user root")]
    decision = gather.decide(hosts, TERMS, 5)
    assert decision.verb is Verb.FAIL
    assert decision.code == ExitCode.NOT_READY
    for word in ("b", "key refused", "user root", "same secret"):
        assert word in decision.reason


def test_two_strikes_do_not() -> None:
    """A key may be mounted late."""
    hosts = [seen("a", Reach.READY), seen("b", Reach.KEY_REFUSED, strikes=2)]
    assert gather.decide(hosts, TERMS, 5).verb is Verb.WAIT


def test_strikes_off_waits_to_the_end() -> None:
    """With strikes 0 only the deadline ends the wait."""
    hosts = [seen("a", Reach.WRONG_HOST_KEY, strikes=99), seen("b", Reach.READY)]
    terms = Terms(expected=2, deadline_s=60, strikes=0)
    assert gather.decide(hosts, terms, 59).verb is Verb.WAIT
    assert gather.decide(hosts, terms, 60).verb is Verb.FAIL


def test_a_stranger_among_enough_others_does_not_end_it() -> None:
    """A left-over address with another key is no reason to fail while enough others may come."""
    hosts = [
        seen("a", Reach.KEY_REFUSED, strikes=9),
        seen("b", Reach.READY),
        seen("c", Reach.NO_ROUTE),
    ]
    assert gather.decide(hosts, TERMS, 5).verb is Verb.WAIT


def test_an_unsettled_name_never_goes() -> None:
    """While the count is not known, ready hosts are not enough."""
    terms = Terms(expected=None, deadline_s=60, strikes=3)
    assert gather.decide([seen("a", Reach.READY)], terms, 1).verb is Verb.WAIT
    assert gather.decide([seen("a", Reach.READY)], terms, 60).verb is Verb.FAIL


def test_progress_names_who_is_missing_and_why() -> None:
    """One calm line: how many, and the missing with their reasons, no more than four of them."""
    hosts = [seen("a", Reach.READY)] + [seen(f"w{n}", Reach.NO_NAME) for n in range(6)]
    text = gather.progress(hosts, Terms(expected=7, deadline_s=9, strikes=3), 4.2)
    assert text.startswith("ready 1/7 after 4 s; waiting for w0: name does not resolve")
    assert text.endswith(", and 2 more")
    assert "\n" not in text


def test_the_table_lists_all_with_last_error_and_seconds() -> None:
    """Host → last state → seconds, the ready ones first."""
    hosts = [seen("bad", Reach.REFUSED, detail="10.0.0.2"), seen("good", Reach.READY)]
    assert gather.table(hosts, 20) == (
        "  good     1.5 s  ready\n  bad     20.0 s  connection refused (10.0.0.2)"
    )


# A quorum.

QUORUM = Terms(expected=3, deadline_s=60, strikes=3, quorum=2)
TWO = [seen("a", Reach.READY), seen("b", Reach.REFUSED, detail="10.0.0.2"), seen("c", Reach.READY)]


def test_a_quorum_waits_for_all_until_the_deadline() -> None:
    """Who may still come is waited for; then the order stays, and the missing one is named."""
    assert gather.decide(TWO, QUORUM, 59.9).verb is Verb.WAIT
    decision = gather.decide(TWO, QUORUM, 60)
    assert decision.verb is Verb.GO
    assert [one.host.name for one in decision.chosen] == ["a", "c"]
    assert decision.reason == (
        "starting with 2 of 3 workers (--min-workers); missing: b: connection refused (10.0.0.2)"
    )


def test_all_are_no_quorum() -> None:
    """When all are ready, nobody is waited for or missed."""
    hosts = [seen(name, Reach.READY) for name in "abc"]
    decision = gather.decide(hosts, QUORUM, 2)
    assert (decision.verb, len(decision.chosen), decision.reason) == (Verb.GO, 3, "")


def test_an_elastic_job_starts_when_nobody_came_for_a_while() -> None:
    """Each newcomer moves the start; without further ones it is at the last one plus patience."""
    terms = replace(QUORUM, patience_s=5)
    assert gather.decide(TWO, terms, 6.4).verb is Verb.WAIT
    assert gather.look_again_s(TWO, terms) == 6.5
    assert gather.decide(TWO, terms, 6.5).verb is Verb.GO
    later = [TWO[0], TWO[1], seen("c", Reach.READY, after=6)]
    assert gather.decide(later, terms, 10.9).verb is Verb.WAIT
    assert gather.look_again_s([TWO[0]], terms) == 60


def test_nobody_waits_for_those_who_cannot_come() -> None:
    """When waiting will not heal the missing ones a quorum starts at once, and fewer than it fail."""
    bad = seen("b", Reach.KEY_REFUSED, strikes=3, detail="user root")
    assert gather.decide([TWO[0], bad, TWO[2]], QUORUM, 3).verb is Verb.GO
    worse = seen("c", Reach.WRONG_HOST_KEY, strikes=3)
    assert gather.decide([TWO[0], bad, worse], QUORUM, 3).verb is Verb.FAIL
    assert gather.decide([TWO[0], bad, seen("c", Reach.REFUSED)], QUORUM, 3).verb is Verb.WAIT


def test_a_name_that_settles_on_too_few_does_not_start() -> None:
    """An uncounted name whose first answer is smaller than the quorum is followed further."""
    terms = Terms(expected=1, deadline_s=60, strikes=3, quorum=2)
    assert gather.decide([seen("a", Reach.READY)], terms, 5).verb is Verb.WAIT
    assert gather.decide([seen("a", Reach.READY)], terms, 60).verb is Verb.FAIL


def test_the_quorum_is_told_when_it_is_missed() -> None:
    """The reason says what there was and what was needed."""
    decision = gather.decide([seen("a", Reach.READY)], QUORUM, 60)
    assert decision.reason == "1 of 3 workers ready after 60 s; 2 are needed (--min-workers)"


def test_a_quorum_beyond_all_is_refused() -> None:
    """It can never be reached; where the number is not known yet, nothing is said."""
    gather.check_quorum(3, 3)
    gather.check_quorum(3, None)
    with pytest.raises(ConfigError, match="--min-workers is 4, but 3 workers are named"):
        gather.check_quorum(4, 3)


states = st.lists(
    st.builds(
        seen,
        st.just("w"),
        st.sampled_from(Reach),
        strikes=st.integers(1, 9),
        after=st.floats(0, 100),
    ),
    max_size=8,
)
terms_of = st.builds(
    Terms,
    expected=st.one_of(st.none(), st.integers(1, 8)),
    deadline_s=st.just(100.0),
    strikes=st.integers(0, 5),
    quorum=st.integers(0, 8),
    patience_s=st.one_of(st.none(), st.floats(0, 200)),
)


@given(states, terms_of, st.floats(0, 1000))
def test_no_start_with_fewer_than_are_enough(
    hosts: list[Seen], terms: Terms, waited: float
) -> None:
    """GO takes ready hosts in their order: all, or at least the quorum; it says when some miss."""
    decision = gather.decide(hosts, terms, waited)
    if decision.verb is Verb.GO:
        assert all(one.reach.ready for one in decision.chosen)
        assert len(decision.chosen) >= max(1, terms.quorum)
        assert len(decision.chosen) >= (terms.expected or 0) or terms.quorum
        assert bool(decision.reason) == (len(decision.chosen) < max(terms.expected or 99, 1))
        ready = [one for one in hosts if one.reach.ready]
        assert list(decision.chosen) == ready[: len(decision.chosen)]


@given(states, terms_of, st.floats(0, 1000))
def test_every_wait_is_told_when_to_look_again(
    hosts: list[Seen], terms: Terms, waited: float
) -> None:
    """A wait in which nothing more happens ends when it said so, and never after the deadline."""
    again = gather.look_again_s(hosts, terms)
    assert again <= terms.deadline_s
    if gather.decide(hosts, terms, waited).verb is Verb.WAIT:
        assert waited < again
        assert gather.decide(hosts, terms, again).verb is not Verb.WAIT


reaches = st.lists(st.tuples(st.sampled_from(Reach), st.integers(1, 9)), max_size=8)


@given(reaches, st.one_of(st.none(), st.integers(1, 8)), st.floats(0, 1000), st.integers(0, 5))
def test_no_wait_outlives_its_deadline(
    states: list[tuple[Reach, int]], expected: int | None, waited: float, strikes: int
) -> None:
    """Whatever is seen, at the deadline the wait is over; GO only ever takes ready hosts."""
    hosts = [seen(f"w{n}", reach, strikes=count) for n, (reach, count) in enumerate(states)]
    terms = Terms(expected=expected, deadline_s=100, strikes=strikes)
    decision = gather.decide(hosts, terms, waited)
    if waited >= 100:
        assert decision.verb is not Verb.WAIT
    if decision.verb is Verb.GO:
        assert len(decision.chosen) == expected
        assert all(one.reach.ready for one in decision.chosen)
    if decision.verb is Verb.FAIL:
        assert decision.reason
