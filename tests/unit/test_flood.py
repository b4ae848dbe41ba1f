"""A peer that says more than anybody has to say is found out, and one that does not is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan.flood import Allowance

STEPS = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 50)), max_size=40)


@given(STEPS)
def test_what_is_allowed_is_never_more_than_burst_and_rate(
    steps: list[tuple[float, float]],
) -> None:
    """All that was taken in a while is a burst and what the rate gives in that while, at most."""
    allowance, now, taken = Allowance(100, 10), 0.0, 0.0
    for pause_s, amount in steps:
        now += pause_s
        if allowance.take(amount, now):
            taken += amount
    assert taken <= 100 + 10 * now + 1e-6


@given(STEPS)
def test_who_keeps_to_the_rate_is_never_refused(steps: list[tuple[float, float]]) -> None:
    """However it is spread: who stays below the rate after a first burst is heard."""
    allowance, now = Allowance(100, 10), 0.0
    for pause_s, amount in steps:
        now += pause_s
        assert allowance.take(min(amount, pause_s * 10), now)


def test_who_falls_silent_is_heard_again() -> None:
    """The debt of a flood is bounded."""
    allowance = Allowance(100, 10)
    assert not allowance.take(10**9, 0.0)
    assert allowance.take(50, 100.0)
