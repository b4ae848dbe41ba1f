"""The fault matrix finds what is wrong, and its page tells what was recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.helpers import faultpage
from tests.helpers.cells import Seen, judge
from tests.helpers.faultpage import Run
from tests.helpers.faults import BY_NAME, MATRIX, STACKS, THIN

CELL = BY_NAME["worker-cut"]
MESSAGE = "w1 was lost: unreachable: nothing came through for 8 s"
RIGHT = Seen(
    code=241, seconds=12.0, fault="infrastructure", host="w1", message=MESSAGE, log=MESSAGE,
    workers={"w1": 245, "w2": 0}, idle_s={"w1": 9.0},
)  # fmt: skip
RUN = Run(
    stack="mpich", name="worker-cut", at="2026-01-02T03:04:05+00:00", wrong=[], code=241,
    fault="infrastructure", host="w1", seconds=12.0, settings={"mpiboot": "abc"},
)  # fmt: skip


def test_a_right_outcome_is_right() -> None:
    """Nothing is wrong where all is as the cell has it."""
    assert judge(CELL, RIGHT) == []


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (replace(RIGHT, code=0), "code 0, not 241 or 243"),
        (replace(RIGHT, code=None), "code None"),
        (replace(RIGHT, seconds=99.0), "99.0 s, more than"),
        (replace(RIGHT, fault="user"), "class 'user'"),
        (replace(RIGHT, host="w2"), "host 'w2', not w1"),
        (replace(RIGHT, rank=0), "rank 0, not None"),
        (replace(RIGHT, message="w1 was lost", log="w1 was lost"), "says 'w1 was lost'"),
        (replace(RIGHT, log=""), "the log does not hold the message"),
        (replace(RIGHT, log=MESSAGE + "internal fault"), "a fault of the agent's own"),
        (replace(RIGHT, workers={"w1": 245, "w2": None}), "w2 ended with None, not 0"),
        (replace(RIGHT, idle_s={}), "w1 was never idle"),
        (replace(RIGHT, left=["w1: 7 Ss sleep 3600"]), "left: w1: 7 Ss sleep 3600"),
    ],
)
def test_whatever_is_wrong_is_told(seen: Seen, words: str) -> None:
    """One thing wrong, one line."""
    wrong = judge(CELL, seen)
    assert len(wrong) == 1
    assert words in wrong[0]


def test_the_page_is_made_of_the_records() -> None:
    """Counts, codes that differ, median and maximum, what was not right, and with what it was made."""
    slow = replace(RUN, code=243, seconds=20.0, wrong=["host 'w2',\n not w1"], host="w2")
    records = "\n".join(run.to_line() for run in (RUN, RUN, slow))
    page = faultpage.page(faultpage.read(records))
    row = "| MPICH | 3 | 2 | 241 (2x), 243 (1x) | infrastructure | w1 (2x), w2 (1x) | 12.0 | 20.0 |"
    assert f"| {CELL.title} {row}" in page
    assert "3 runs, 2 right." in page
    assert "- worker-cut, MPICH, 2026-01-02T03:04:05+00:00: host 'w2', not w1" in page
    assert "- date: 2026-01-02" in page
    assert "- mpiboot: abc" in page


def test_a_run_that_never_ended_has_no_seconds() -> None:
    """What did not end is counted, and not as a time."""
    page = faultpage.page([replace(RUN, code=None, wrong=["code None"])])
    assert "| MPICH | 1 | 0 | None | infrastructure | w1 | - | - |" in page


def test_the_matrix_is_whole() -> None:
    """Every cell has a name of its own, and the thin choice is made of them."""
    assert len(BY_NAME) == len(MATRIX)
    assert set(THIN) < set(BY_NAME)
    assert len(STACKS) == 3
