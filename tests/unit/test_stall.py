"""A job that hangs is told from one that is quiet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ExitCode
from mpiboot.model.outcome import Fault
from mpiboot.mpi import mpich
from mpiboot.plan import conditions, stall, verdict
from mpiboot.plan.evidence import Cause, Evidence, Halt
from mpiboot.plan.layout import Layout
from mpiboot.plan.stall import Stall

T = 20.0
PAUSE = stall.pause_s(T)


def watched(shares: dict[int, float], until: float, timeout_s: float = T) -> Stall:
    """Look at ranks that use so much of a core each, from 0 on."""
    found = Stall(timeout_s)
    at = 0.0
    while at <= until:
        found.hear({rank: int(share * at * 1000) for rank, share in shares.items()}, at)
        at += stall.pause_s(timeout_s)
    return found


def test_fail_06_one_sleeps_and_the_others_wait_for_it() -> None:
    """The ranks in a barrier poll; the one that sleeps holds the job up, and only it is named."""
    found = watched({0: 1.0, 1: 0.0}, 40)
    assert found.idle({0, 1}, quiet_since=0.0, now=40.0) == [1]
    assert found.idle({0, 1}, quiet_since=21.0, now=40.0) == []
    assert found.idle({0}, quiet_since=0.0, now=40.0) == []


def test_all_of_them_sleep() -> None:
    """MPIs that do not poll leave nobody busy."""
    assert watched({0: 0.0, 1: 0.01}, 40).idle({0, 1}, quiet_since=0.0, now=40.0) == [0, 1]


def test_quiet_work_is_no_hang() -> None:
    """Whoever computes is left alone for ever."""
    assert watched({0: 1.0, 1: 0.06}, 10_000).idle({0, 1}, quiet_since=0.0, now=10_000.0) == []


def test_a_rank_of_which_nothing_is_known_holds_nobody_up() -> None:
    """No samples, none that is old enough, none that is new: nobody can tell."""
    assert Stall(T).idle({0}, quiet_since=0.0, now=100.0) == []
    assert watched({0: 0.0}, T - PAUSE).idle({0}, quiet_since=0.0, now=T) == []
    assert watched({0: 0.0}, 100).idle({0}, quiet_since=0.0, now=200.0) == []


def test_a_process_that_ends_is_progress() -> None:
    """Its time may vanish with it."""
    found = Stall(T)
    for at, used in ((0.0, 5000), (10.0, 5000), (20.0, 100), (25.0, 100)):
        found.hear({0: used}, at)
    assert found.idle({0}, quiet_since=0.0, now=25.0) == []


@given(
    st.lists(st.tuples(st.floats(0.1, 5), st.dictionaries(st.integers(0, 3), st.floats(0, 1)))),
    st.floats(0.5, 30),
    st.floats(0, 30),
)
def test_never_while_anything_was_written_in_time(
    steps: list[tuple[float, dict[int, float]]], timeout_s: float, ago: float
) -> None:
    """Whatever the samples say: output within the time means that the job lives."""
    found, now, used = Stall(timeout_s), 0.0, dict.fromkeys(range(4), 0.0)
    for step, shares in steps:
        now += step
        for rank, share in shares.items():
            used[rank] += share * step * 1000
        found.hear({rank: int(used[rank]) for rank in shares}, now)
    idle = found.idle(range(4), quiet_since=now - ago, now=now)
    assert not idle or ago >= timeout_s


@given(st.floats(0.07, 1), st.floats(1, 60), st.integers(2, 60))
def test_who_works_steadily_is_never_idle(share: float, timeout_s: float, looks: int) -> None:
    """Above 5 % of a core, and a tick of the kernel's clock, there is progress."""
    until = looks * stall.pause_s(timeout_s)
    found = watched({0: share}, until, timeout_s)
    assert found.idle({0}, quiet_since=-timeout_s, now=until) == []


@given(st.floats(1, 60), st.integers(0, 40))
def test_who_sleeps_is_found_in_time(timeout_s: float, late: int) -> None:
    """Within the time and two looks a rank that does nothing is found, however long it has run."""
    pause = stall.pause_s(timeout_s)
    until = timeout_s + 2 * pause + late
    assert watched({0: 0.0}, until, timeout_s).idle({0}, quiet_since=0.0, now=until) == [0]


def test_words_and_choices() -> None:
    """One sentence, bounded; idle ranks come first."""
    assert stall.words({1: "w2"}, 20.4) == "no output for 20 s and no progress of rank 1 on w2"
    many = stall.words(dict.fromkeys(range(100), "w1"), 60)
    assert many.endswith("rank 7 on w1, 92 more")
    assert stall.chosen([5], range(8), 4) == [5, 0, 1, 2]
    assert stall.chosen(list(range(9)), range(9), 4) == [0, 1, 2, 3]
    assert [stall.pause_s(t) for t in (0.1, 6, 20, 3600)] == [0.5, 1.5, 5.0, 60.0]


def test_the_verdict_of_a_hang() -> None:
    """247, the user's to mend, with the reason first; what mpirun says when it is ended is no cause."""
    detail = stall.words({1: "w2"}, 20)
    evidence = Evidence(
        code=143, halt=Halt(cause=Cause.STALLED, detail=detail), stderr="", lost=(), leased=2, workers=2
    )  # fmt: skip
    outcome = verdict.judge(evidence, mpich, Layout(places=(), np=2))
    assert (outcome.code, outcome.fault) == (ExitCode.STALLED, Fault.USER)
    assert outcome.message == outcome.failures[0].message == detail
    assert conditions.reason_of(outcome) == "Stalled"
