"""A daemon that died is blamed for what came of it, and for nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ExitCode
from mpiboot.model.outcome import Failure, Fault
from mpiboot.mpi import openmpi4, openmpi5
from mpiboot.plan import daemons, verdict
from mpiboot.plan.daemons import Orphans
from mpiboot.plan.evidence import Evidence, Lost
from mpiboot.plan.layout import Layout
from mpiboot.plan.ranks import End, Ranks

LOST = Failure(message="mpirun lost the daemon on w1", host="w1")
STARTED = {0: "w1", 1: "w2"}
SAID = """ORTE has lost communication with a remote daemon.

  HNP daemon   : [[40291,0],0] on node launcher
  Remote daemon: [[40291,0],1] on node w1

This is usually due to either a failure of the TCP network
"""
AGENT = 1


def end(rank: int, code: int | None = None, signal: int | None = None) -> End:
    return End(rank=rank, host=STARTED[rank], code=code, signal=signal, at=float(rank))


def ranks(*ends: End) -> Ranks:
    return Ranks(np=2, started=STARTED, ends=ends)


@pytest.mark.parametrize(
    "ends", [(), (end(0, code=195),), (end(1, signal=15),), (end(0, code=195), end(1, signal=9))]
)
def test_what_comes_of_a_dead_daemon(ends: tuple[End, ...]) -> None:
    """Ranks below it end with a code of their MPI's, others are killed: the daemon is the cause."""
    assert daemons.blamed([LOST], ranks(*ends), 195, None) == "w1"


def test_survivors_of_its_ranks_are_no_cause() -> None:
    """A rank elsewhere that gave up with the code for that does not clear the daemon."""
    assert daemons.blamed([LOST], ranks(end(1, code=14)), 14, 14) == "w1"


@pytest.mark.parametrize(
    ("told", "seen", "code"),
    [
        ([], ranks(end(0, code=195)), 195),
        ([LOST], ranks(end(1, code=3)), 3),
        ([Failure(message="rank 1 ended with 3", rank=1, code=3), LOST], ranks(), 3),
        ([LOST], ranks(end(0, code=0), end(1, code=0)), 0),
        ([LOST], Ranks(np=2, started={}, ends=()), 1),
    ],
    ids=["not told", "a rank elsewhere", "a rank before it", "all is well", "never started"],
)
def test_what_is_not_its_fault(told: list[Failure], seen: Ranks, code: int) -> None:
    """A rank that failed by itself, a good end and a start-up that failed have other causes."""
    assert daemons.blamed(told, seen, code, None) == ""


@pytest.mark.parametrize("code", [14, 3])
@pytest.mark.parametrize("noticed", [True, False], ids=["lease lost", "lease not missed yet"])
def test_a_worker_that_is_lost_with_its_daemon(code: int, noticed: bool) -> None:
    """A rank elsewhere that gives up first does not hide it, whatever its program made of it."""
    broken = (
        "btl_tcp_frag.c:127:mca_btl_tcp_frag_send] peer: w1 mca_btl_tcp_frag_send: writev failed"
    )
    gave_up = End(rank=1, host="w2", code=code, stderr=(f"{broken}: Broken pipe (32)",))
    evidence = Evidence(
        code=code, halt=None, stderr=SAID.replace("ORTE", "PRTE"), leased=2, workers=2,
        lost=(Lost(host="w1", why="its container is gone", late=True),) if noticed else (),
        ranks=ranks(gave_up),
    )  # fmt: skip
    outcome = verdict.judge(evidence, openmpi5, Layout(places=(), np=2))
    if noticed or code == 14:
        assert outcome.code == ExitCode.WORKER_LOST
        assert outcome.failures[0].host == "w1"
    else:
        assert outcome.code == code, "a code that is nobody's but the program's"


def test_the_verdict_is_a_lost_worker() -> None:
    """With Open MPI's words for it: 241, infrastructure, by name, before what its ranks tell."""
    evidence = Evidence(
        code=195, halt=None, stderr=SAID, lost=(), leased=2, workers=2,
        ranks=ranks(end(0, code=195), end(1, signal=15)),
    )  # fmt: skip
    outcome = verdict.judge(evidence, openmpi4, Layout(places=(), np=2))
    assert (outcome.code, outcome.fault) == (ExitCode.WORKER_LOST, Fault.INFRASTRUCTURE)
    assert outcome.message == "w1 was lost: its MPI daemon died"
    assert outcome.failures[0].host == "w1"


def test_orphans_are_certain_at_the_second_look() -> None:
    """Below its daemon a rank is none; below the agent it is, but once may be the job's end."""
    below, adopted = {9: 8, 8: 7, 7: AGENT}, {9: 8, 8: AGENT}
    seen = Orphans().look([9], below, AGENT)
    assert not seen.pids
    first = seen.look([9], adopted, AGENT)
    assert not first.certain
    assert first.look([9], adopted, AGENT).certain
    assert not first.look([9], below, AGENT).certain


@given(st.dictionaries(st.integers(2, 9), st.integers(0, 9)), st.sets(st.integers(2, 9)))
def test_only_ranks_can_be_orphans(parents: dict[int, int], running: set[int]) -> None:
    """Whatever the table of processes says, only living ranks are counted."""
    seen = Orphans().look(running, parents, AGENT)
    assert set(seen.pids) <= running & set(parents)
