"""The order of what happened on several machines, told by messages that are late in any way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.plan.clocks import Clock
from mpiboot.plan.ranks import Book

WALL = 1_800_000_000.0
LATE = st.floats(0.0, 30.0)
OFF = st.floats(-86_400.0, 86_400.0)
NEAR_S = 1e-3


def clock(off_s: float, back: list[float], forth: list[float]) -> Clock:
    """Exchange messages with a machine whose clock is ahead by some time, each somewhat late."""
    here, there = Clock(), Clock()
    for number, late_s in enumerate(back):
        at = WALL - 100 + number
        here.hear(at + off_s, at + late_s)
    for number, late_s in enumerate(forth):
        at = WALL - 100 + number
        there.hear(at, at + off_s + late_s)
    if there.least is not None:
        here.tell(there.least)
    return here


@given(back=st.lists(LATE, max_size=100), forth=st.lists(LATE, max_size=5), report_s=LATE)
def test_the_same_clock_is_believed(back: list[float], forth: list[float], report_s: float) -> None:
    """However late all messages are, where there is an answer that says how late ours were."""
    made = clock(0.0, back, [*forth, 30.0])
    assert abs(made.ours(WALL, WALL + report_s) - WALL) < NEAR_S


@given(off_s=OFF, back=st.lists(LATE, min_size=1), forth=st.lists(LATE, min_size=1), report_s=LATE)
def test_another_clock_is_known_as_well_as_the_least_late_messages_tell(
    off_s: float, back: list[float], forth: list[float], report_s: float
) -> None:
    """The error is no more than both ways took together, and nothing was sent after it came."""
    told = clock(off_s, back, forth).ours(WALL + off_s, WALL + report_s)
    assert told <= WALL + report_s + NEAR_S
    assert abs(told - WALL) <= min(back[-64:]) + min(forth[-64:]) + NEAR_S


@given(off_s=OFF, report_s=LATE)
def test_without_any_other_message_it_came_no_later_than_some_seconds(
    off_s: float, report_s: float
) -> None:
    """Nothing else is known of that clock."""
    told = Clock().ours(WALL + off_s, WALL + report_s)
    assert WALL + report_s - 5 - NEAR_S <= told <= WALL + report_s + NEAR_S


@given(first_s=OFF, second_s=OFF, late=LATE)
def test_the_first_failure_is_first_however_late_its_report(
    first_s: float, second_s: float, late: float
) -> None:
    """A rank ended 50 ms before another, on machines whose clocks are off; its report comes last."""
    clocks = {
        "w1": clock(first_s, [0.002, 3.0], [2.0, 0.001]),
        "w2": clock(second_s, [2.0, 0.001], [0.003, 3.0]),
    }
    assert order(clocks, first_s, second_s, late) == [0, 1]


@given(early=LATE, late=LATE)
def test_a_busy_start_does_not_turn_the_order_round(early: float, late: float) -> None:
    """Clocks are the same, and one host's few messages were all late."""
    clocks = {"w1": clock(0.0, [early], [early]), "w2": clock(0.0, [0.001], [0.001])}
    assert order(clocks, 0.0, 0.0, late) == [0, 1]


def order(clocks: dict[str, Clock], first_s: float, second_s: float, late: float) -> list[int]:
    book = Book(2)
    second = {"rank": 1, "event": "ended", "signal": 9, "time_ms": ms(WALL + 0.05 + second_s)}
    book.hear("w2", second, 0.0, WALL + 0.06, clocks["w2"])
    first = {"rank": 0, "event": "ended", "code": 3, "time_ms": ms(WALL + first_s)}
    book.hear("w1", first, 0.0, WALL + 0.06 + late, clocks["w1"])
    return [end.rank for end in book.ranks().failures]


def ms(wall_s: float) -> int:
    return int(wall_s * 1000)


def test_messages_carry_what_a_clock_needs() -> None:
    """Both ends learn of each other by their heartbeats alone; nonsense is passed over."""
    here, there = Clock(), Clock()
    messages.note_time(Message(kind=messages.HELLO, body=messages.stamped({}, here)), there)
    messages.note_time(Message(kind=messages.BEAT, body=messages.stamped({}, there)), here)
    assert there.least is not None
    assert here.least is not None
    assert abs(here.ours(WALL, WALL + 20) - WALL) < NEAR_S
    for body in ({"time_ms": "x", "late_ms": 1e9}, {"time_ms": -5, "late_ms": 1 << 60}, {}):
        messages.note_time(Message(kind=messages.BEAT, body=body), here)
    assert abs(here.ours(WALL, WALL + 20) - WALL) < NEAR_S
