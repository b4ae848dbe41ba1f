"""A worker stays or leaves by leases, messages and a clock, and never for ever."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ExitCode
from mpiboot.model.record import replace
from mpiboot.plan import release
from mpiboot.plan.release import Exit, Over, Seen, Stay, Terms

TERMS = Terms(first_contact_s=100, retry_grace_s=10)


def code(seen: Seen, now: float) -> ExitCode | None:
    decision = release.decide(seen, TERMS, now)
    return decision.code if isinstance(decision, Exit) else None


def test_final_success_and_final_failure_leave_with_0() -> None:
    """The worker did its duty, whatever the job's code."""
    for job in (0, 7, 137):
        over = Over(code=job, final=True, ran=True)
        assert code(Seen(ready_at=0, leases=1, over=over), 1) == ExitCode.OK


def test_a_job_that_never_started_is_told_apart() -> None:
    """246 when no ranks ran here."""
    over = Over(code=240, final=True, ran=False)
    assert code(Seen(ready_at=0, leases=1, over=over), 1) == ExitCode.NEVER_USED


def test_a_failed_attempt_that_is_retried_is_no_reason_to_leave() -> None:
    """The worker stays for the retry grace, then leaves with 245."""
    over = Over(code=1, final=False, ran=True)
    seen = Seen(ready_at=0, silent_since=50, over=over)
    assert release.decide(seen, TERMS, 50) == Stay(until=60)
    assert code(seen, 60) == ExitCode.LAUNCHER_LOST


def test_an_open_lease_holds_the_worker() -> None:
    """As long as a launcher is here there is nothing to decide."""
    assert release.decide(Seen(ready_at=0, leases=1, silent_since=5), TERMS, 1e9) == Stay(
        until=None
    )


def test_a_lost_launcher_is_waited_for_within_the_grace() -> None:
    """Silence without a word is a lost launcher."""
    seen = Seen(ready_at=0, silent_since=20)
    assert code(seen, 29.9) is None
    assert code(seen, 30) == ExitCode.LAUNCHER_LOST


def test_a_plain_launchers_sessions_hold_the_worker_and_end_with_0() -> None:
    """Plain mpirun says nothing: open sessions are its job, their end is the job's end."""
    assert release.decide(Seen(ready_at=0, sessions=1), TERMS, 1e9) == Stay(until=None)
    assert code(Seen(ready_at=0, quiet_since=40), 50) == ExitCode.OK


def test_a_launcher_with_too_many_leases_holds_the_worker_by_its_word() -> None:
    """Its job may be long in coming, however short the grace; then sessions count as for anybody."""
    seen = Seen(ready_at=0, unheld_since=50)
    assert release.decide(seen, TERMS, 149) == Stay(until=150)
    assert code(seen, 150) == ExitCode.NEVER_USED
    assert release.decide(replace(seen, sessions=1), TERMS, 1e9) == Stay(until=None)
    after = replace(seen, quiet_since=500)
    assert release.decide(after, TERMS, 501) == Stay(until=510)
    assert code(after, 510) == ExitCode.LAUNCHER_LOST
    assert code(replace(after, over=Over(code=0, final=True, ran=True)), 501) == ExitCode.OK


def test_nobody_ever_came() -> None:
    """246 at the deadline of the first contact."""
    assert release.decide(Seen(ready_at=5), TERMS, 6) == Stay(until=105)
    assert code(Seen(ready_at=5), 105) == ExitCode.NEVER_USED


times = st.one_of(st.none(), st.floats(0, 1000))
overs = st.one_of(
    st.none(), st.builds(Over, code=st.integers(0, 255), final=st.booleans(), ran=st.booleans())
)


@given(st.floats(0, 1000), times, times, overs, times)
def test_no_state_without_an_exit(
    ready_at: float,
    silent: float | None,
    quiet: float | None,
    over: Over | None,
    unheld: float | None,
) -> None:
    """Once nobody is connected, every state has a time at which the worker is gone."""
    seen = Seen(
        ready_at=ready_at, silent_since=silent, quiet_since=quiet, over=over, unheld_since=unheld
    )
    decision = release.decide(seen, TERMS, 0)
    if isinstance(decision, Stay):
        assert decision.until is not None
        assert isinstance(release.decide(seen, TERMS, decision.until), Exit)


def test_a_worker_that_is_told_to_stay_stays_until_a_launcher_says_otherwise() -> None:
    """Neither the retry grace nor the first contact counts then."""
    over = Over(code=1, final=False, ran=True, stay=True)
    seen = Seen(ready_at=0, silent_since=50, over=over)
    assert release.decide(seen, TERMS, 1e9) == Stay(until=None)


def test_a_worker_without_deadlines_leaves_with_the_job_only() -> None:
    """In debug mode neither silence nor a lost launcher ends it."""
    forever = Terms(first_contact_s=math.inf, retry_grace_s=math.inf)
    for seen in (
        Seen(ready_at=0),
        Seen(ready_at=0, silent_since=5),
        Seen(ready_at=0, quiet_since=5),
    ):
        assert release.decide(seen, forever, 1e9) == Stay(until=None)
    over = Over(code=3, final=True, ran=True)
    assert isinstance(release.decide(Seen(ready_at=0, over=over), forever, 1), Exit)
