"""The order of what happened on several machines, told by messages that are late in any way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan.clocks import Clock, same
from mpiboot.plan.ranks import Book

WALL = 1_800_000_000.0
LATE = st.floats(0.0, 30.0)
OFF = st.floats(-86_400.0, 86_400.0)


def clock(off_s: float, late: list[float]) -> Clock:
    """Hear heartbeats of a machine whose clock is off, each some time late."""
    made = Clock()
    for number, late_s in enumerate(late):
        at = WALL - 100 + number
        made.hear(at + off_s, at + late_s)
    return made


@given(off_s=OFF, late=st.lists(LATE, min_size=1, max_size=100), report_s=LATE)
def test_a_message_is_put_where_the_least_late_one_tells(
    off_s: float, late: list[float], report_s: float
) -> None:
    """However far the clock is off and however late the message, and never after it came."""
    told = clock(off_s, late).ours(WALL + off_s, WALL + report_s)
    assert told <= WALL + report_s + 1e-6
    assert abs(told - (WALL + min([*late[-64:], report_s]))) < 1e-3


def test_without_heartbeats_the_arrival_counts() -> None:
    """Nothing else is known of that clock."""
    assert Clock().ours(5.0, WALL) == WALL


@given(first_s=OFF, second_s=OFF, late=LATE)
def test_the_first_failure_is_first_however_late_its_report(
    first_s: float, second_s: float, late: float
) -> None:
    """A rank ended 50 ms before another, on machines whose clocks are off; its report comes last."""
    book = Book(2)
    clocks = {"w1": clock(first_s, [0.002, 3.0]), "w2": clock(second_s, [2.0, 0.001])}
    second = {"rank": 1, "event": "ended", "signal": 9, "time_ms": ms(WALL + 0.05 + second_s)}
    book.hear("w2", second, 0.0, WALL + 0.06, clocks["w2"])
    first = {"rank": 0, "event": "ended", "code": 3, "time_ms": ms(WALL + first_s)}
    book.hear("w1", first, 0.0, WALL + 0.06 + late, clocks["w1"])
    assert [end.rank for end in book.ranks().failures] == [0, 1]


def ms(wall_s: float) -> int:
    return int(wall_s * 1000)


def test_this_machine_s_own_clock_needs_no_heartbeats() -> None:
    """A report of a rank beside the launcher that comes a second late happened when it says."""
    assert same().ours(WALL, WALL + 1) == WALL
