"""Every state that a crash, an upgrade or a person can leave leads to shims that stand, or to none."""

from __future__ import annotations

import itertools

import pytest

from mpiboot.model.record import replace
from mpiboot.model.shims import Kind
from mpiboot.plan import mending
from mpiboot.plan.mending import Lay, State, Take

STATES = [
    State(place=place, in_place=in_place, aside=aside, same=same)
    for place, (in_place, aside, same) in itertools.product(
        Kind, itertools.product((False, True), repeat=3)
    )
    if (place is Kind.OURS or not same) and (in_place or not aside)
]


def laid(state: State) -> State:
    """Return the state after a shim was laid."""
    step = mending.lay(state)
    if step in (Lay.TAKEN, Lay.LOST):
        return state
    aside = state.aside or step in (Lay.MOVE_AND_WRITE, Lay.RENEW)
    return State(place=Kind.OURS, in_place=state.in_place, aside=aside, same=True)


def taken(state: State) -> State:
    """Return the state after a shim was taken away."""
    match mending.take(state):
        case Take.RESTORE:
            return replace(state, place=Kind.OTHER, aside=False, same=False)
        case Take.REMOVE | Take.LOST:
            return replace(state, place=Kind.ABSENT, same=False)
        case Take.DISCARD:
            return replace(state, aside=False)
        case _:
            return state


@pytest.mark.parametrize("state", STATES, ids=str)
def test_laying_ends_with_a_shim(state: State) -> None:
    """After it the shim stands and its program exists; or it says why not, and nothing is lost."""
    after = laid(state)
    if mending.lay(state) is Lay.LOST:
        assert not state.aside
        assert state.place is not Kind.OTHER
    elif mending.lay(state) is Lay.TAKEN:
        assert (state.place, state.in_place) == (Kind.OTHER, False)
    else:
        assert mending.fault(after) == ""
        assert mending.lay(after) is Lay.KEEP


@pytest.mark.parametrize("state", STATES, ids=str)
def test_taking_leaves_none(state: State) -> None:
    """After it no shim stands, nothing lies aside, and what another one put there is untouched."""
    after = taken(state)
    assert after.place is not Kind.OURS
    assert not after.aside
    assert state.place is not Kind.OTHER or after.place is Kind.OTHER
    assert mending.take(after) in (Take.NOTHING, Take.UNTOUCHED, Take.LEAVE)


def test_there_and_back() -> None:
    """An original in its place comes back to it."""
    before = State(place=Kind.OTHER, in_place=True)
    assert taken(laid(before)) == before


@pytest.mark.parametrize("state", STATES, ids=str)
def test_half_done(state: State) -> None:
    """An empty place is put right before anything is looked for; it is no state in which one is laid."""
    if mending.half_done(state):
        assert mending.take(state) is Take.RESTORE
    else:
        assert state.place is not Kind.ABSENT or not state.aside


def test_an_upgrade() -> None:
    """A program that a package manager without diversions put over the shim is seen, and wins."""
    overwritten = State(place=Kind.OTHER, in_place=True, aside=True)
    assert "overwritten" in mending.fault(overwritten)
    assert mending.lay(overwritten) is Lay.RENEW
    assert mending.take(overwritten) is Take.DISCARD


def test_faults() -> None:
    """What is amiss has words."""
    assert "gone" in mending.fault(State(place=Kind.ABSENT))
    assert "original" in mending.fault(State(place=Kind.OURS, in_place=True))
    assert mending.fault(State(place=Kind.OURS)) == ""
