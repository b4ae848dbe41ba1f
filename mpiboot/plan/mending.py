"""What has to be done at a shim's place, whatever an earlier install, upgrade or crash has left there."""

from __future__ import annotations

from enum import Enum

from mpiboot.model.record import dataclass
from mpiboot.model.shims import Kind


@dataclass(frozen=True, kw_only=True)
class State:
    """What is there.

    Attributes:
        place: what is at the shim's place.
        in_place: whether the shim takes the original's own place.
        aside: whether an original lies aside.
        same: whether the shim there has the text that it should have.
    """

    place: Kind
    in_place: bool = False
    aside: bool = False
    same: bool = False


class Lay(Enum):
    """What makes it so that the shim stands there."""

    KEEP = "is there"
    WRITE = "laid"
    MOVE_AND_WRITE = "laid; the original lies aside"
    RENEW = "laid anew: an upgrade had put another program in its place"
    TAKEN = "not laid: another program is there now"
    LOST = "broken: the original is gone; install its package again, and then this"


class Take(Enum):
    """What makes it so that no shim stands there."""

    NOTHING = "was gone"
    UNTOUCHED = "is the original"
    REMOVE = "taken away"
    RESTORE = "taken away; the original is back"
    DISCARD = "was overwritten by an upgrade, which stays; the old original is removed"
    LEAVE = "was overwritten, and is left"
    LOST = "taken away; the original was gone: install its package again"


def lay(state: State) -> Lay:
    """Decide how a shim comes to stand."""
    written = Lay.KEEP if state.same else Lay.WRITE
    if not state.in_place:
        return Lay.TAKEN if state.place is Kind.OTHER else written
    if state.place is Kind.OTHER:
        return Lay.RENEW if state.aside else Lay.MOVE_AND_WRITE
    return written if state.aside else Lay.LOST


def half_done(state: State) -> bool:
    """Tell whether a crash between move and write has left the place empty."""
    return state.in_place and state.place is Kind.ABSENT and state.aside


def take(state: State) -> Take:
    """Decide how a shim goes."""
    if not state.in_place:
        return {
            Kind.ABSENT: Take.NOTHING, Kind.OURS: Take.REMOVE, Kind.OTHER: Take.LEAVE
        }[state.place]  # fmt: skip
    if state.place is Kind.OTHER:
        return Take.DISCARD if state.aside else Take.UNTOUCHED
    if state.aside:
        return Take.RESTORE
    return Take.LOST if state.place is Kind.OURS else Take.NOTHING


def fault(state: State) -> str:
    """Say what is wrong with a shim that was installed; empty: nothing is."""
    if state.place is Kind.OTHER:
        return "was overwritten, by an upgrade or by hand"
    if state.place is Kind.ABSENT:
        return "is gone"
    if state.in_place and not state.aside:
        return "is there, but the original is gone"
    return ""
