"""No launcher opens more leases than it is granted descriptors for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan import holding


@given(st.integers(1, 100_000))
def test_what_is_asked_for_suffices(limit: int) -> None:
    """With all descriptors that were wanted, the setting decides."""
    assert holding.bound(limit, holding.descriptors(limit)) == limit


@given(st.integers(1, 100_000), st.integers(0, 1_000_000))
def test_never_more_than_there_is_room_for(limit: int, granted: int) -> None:
    """One lease is always tried; more only where their descriptors fit."""
    held = holding.bound(limit, granted)
    assert 1 <= held <= limit
    assert held == 1 or holding.descriptors(held) <= granted


def test_the_usual_container() -> None:
    """1024 open files are enough for 170 workers."""
    assert holding.bound(4096, 1024) == 170
