"""One launcher has a worker; whoever came later wins, everywhere the same one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan import fencing
from mpiboot.plan.fencing import Claim, Tickets

IDS = st.sampled_from(["a", "b", "c", "d"])


def test_tickets_follow_the_order_of_arrival() -> None:
    """A launcher that comes again keeps its number."""
    tickets = Tickets()
    assert [tickets.draw(one) for one in ("a", "b", "a", "c", "b")] == [1, 2, 1, 3, 2]


def test_who_comes_after_a_claim_is_newer_than_it() -> None:
    """Also where the generation was drawn at another worker, which had seen more launchers."""
    tickets = Tickets()
    tickets.heed(Claim(generation=7, launcher_id="a"))
    assert tickets.draw("b") == 8


def test_an_older_launcher_is_refused_and_a_newer_one_is_not() -> None:
    """The holder itself may claim again: that is its next attempt."""
    held = Claim(generation=2, launcher_id="m")
    assert fencing.granted(None, held)
    assert fencing.granted(held, held)
    assert not fencing.granted(held, Claim(generation=1, launcher_id="z"))
    assert fencing.granted(held, Claim(generation=3, launcher_id="a"))


@given(st.lists(st.permutations(["a", "b", "c"]), min_size=1, max_size=4))
def test_one_launcher_wins_on_all_workers(arrivals: list[list[str]]) -> None:
    """Launchers log in everywhere, in any order on each worker; then all claim, in any order."""
    workers = [Tickets() for _ in arrivals]
    for tickets, order in zip(workers, arrivals, strict=True):
        for one in order:
            tickets.draw(one)
    claims = {
        one: Claim(generation=max(t.draw(one) for t in workers), launcher_id=one) for one in "abc"
    }
    winners = set()
    for order in arrivals:
        held: Claim | None = None
        for one in order:
            if fencing.granted(held, claims[one]):
                held = claims[one]
        assert held is not None
        winners.add(held.launcher_id)
    assert len(winners) == 1


@given(st.lists(st.tuples(IDS, st.integers(1, 9)), min_size=1))
def test_the_generation_of_the_holder_never_falls(asked: list[tuple[str, int]]) -> None:
    """Between different launchers only a larger claim takes over."""
    held: Claim | None = None
    for launcher_id, generation in asked:
        claim = Claim(generation=generation, launcher_id=launcher_id)
        if fencing.granted(held, claim):
            if held is not None and held.launcher_id != launcher_id:
                assert (claim.generation, launcher_id) > (held.generation, held.launcher_id)
            held = claim
