"""What follows an attempt: it ends in every case, and nothing runs twice that nobody asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ExitCode
from mpiboot.model.outcome import Fault, Outcome
from mpiboot.plan import retry
from mpiboot.plan.retry import Kind, Tally, Terms

ASKED = Terms(launch_retries=2, max_restarts=3)
FAILED_START = Outcome(
    code=int(ExitCode.LAUNCH_FAILED), fault=Fault.INFRASTRUCTURE, message="no daemon", ran=False
)
FAILED_JOB = Outcome(code=3, fault=Fault.USER, message="rank 0 ended with 3", ran=True)
OUTCOMES = st.builds(
    Outcome,
    code=st.sampled_from([0, 1, 3, 78, 137, 143, *map(int, ExitCode)]),
    fault=st.sampled_from(Fault),
    message=st.just("x"),
    ran=st.booleans(),
    permanent=st.booleans(),
)


def test_a_start_up_is_tried_again_and_then_no_more() -> None:
    """Two more tries by default, each after a longer pause."""
    tally, pauses = Tally(), []
    for _ in range(2):
        then = retry.after(FAILED_START, tally, ASKED, stopped=False)
        assert then.kind is Kind.LAUNCH_RETRY
        assert "start-up failed, retry" in then.reason
        tally = then.tally
        pauses.append(then.pause_s)
    assert pauses == sorted(set(pauses))
    assert retry.after(FAILED_START, tally, ASKED, stopped=False).kind is None


def test_a_job_is_started_again_only_when_asked() -> None:
    """By default never; with --max-restarts that often; launch retries count anew in each."""
    never = Terms(launch_retries=2, max_restarts=0)
    assert retry.after(FAILED_JOB, Tally(), never, stopped=False).kind is None
    then = retry.after(FAILED_JOB, Tally(launch_retries=2), ASKED, stopped=False)
    assert (then.kind, then.tally) == (Kind.RESTART, Tally(restarts=1))


@pytest.mark.parametrize(
    "fault", [Fault.CONFIGURATION, Fault.SIGNAL, Fault.DEADLINE, Fault.INTERNAL]
)
def test_what_a_restart_cannot_heal_is_not_restarted(fault: Fault) -> None:
    """A configuration stays wrong, a stop stays a stop."""
    outcome = Outcome(code=78, fault=fault, message="x", ran=True)
    assert retry.after(outcome, Tally(), ASKED, stopped=False).kind is None


@given(
    st.lists(OUTCOMES, min_size=1, max_size=40), st.integers(0, 5), st.integers(0, 5), st.booleans()
)
def test_every_path_ends(
    outcomes: list[Outcome], retries: int, restarts: int, stopped: bool
) -> None:
    """Whatever happens, the attempts are bounded, a stop ends them, and success is never repeated."""
    terms, tally, made = Terms(launch_retries=retries, max_restarts=restarts), Tally(), 1
    for outcome in outcomes:
        then = retry.after(outcome, tally, terms, stopped=stopped)
        if then.kind is None:
            break
        assert not stopped
        assert outcome.code != 0
        if then.kind is Kind.LAUNCH_RETRY:
            assert not outcome.ran
        assert 0 < then.pause_s <= 30
        tally, made = then.tally, made + 1
    assert made <= (retries + 1) * (restarts + 1)
    assert tally.restarts <= restarts
