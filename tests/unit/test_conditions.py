"""Conditions over time: any way through the stages gives a document that holds together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.outcome import Fault, Outcome, Phase, Stage
from mpiboot.model.standing import (
    WORKER_PHASES,
    Condition,
    Kind,
    Task,
    Truth,
    aggregate,
)
from mpiboot.plan import retry
from mpiboot.plan.attempts import Attempt
from mpiboot.plan.conditions import Moment, advance, reason_of

GOOD = Outcome(code=0, fault=Fault.NONE, message="the job succeeded")
BAD = Outcome(code=241, fault=Fault.INFRASTRUCTURE, message="w1 was lost")

tasks = st.builds(
    Task,
    name=st.text(max_size=5),
    role=st.just("worker"),
    phase=st.sampled_from(WORKER_PHASES),
    reason=st.text(max_size=2000),
)
moments = st.builds(
    Moment,
    stage=st.sampled_from(Stage),
    outcome=st.none()
    | st.builds(
        Outcome,
        code=st.integers(0, 255),
        fault=st.sampled_from(Fault),
        message=st.text(max_size=2000),
    ),
    silent=st.booleans(),
    tasks=st.lists(tasks, max_size=3).map(tuple),
)
# A wall clock may go back.
clocks = st.integers(0, 999).map(lambda n: f"2026-01-01T00:00:00.{n:03d}Z")


def followed(steps: Sequence[tuple[Moment, str]]) -> list[tuple[Condition, ...]]:
    """Return the conditions after each step."""
    all_of_them: list[tuple[Condition, ...]] = [()]
    for moment, at in steps:
        all_of_them.append(advance(all_of_them[-1], moment, at))
    return all_of_them[1:]


def by_kind(conditions: Sequence[Condition]) -> dict[Kind, Condition]:
    return {one.kind: one for one in conditions}


@given(st.lists(st.tuples(moments, clocks), min_size=1, max_size=12))
def test_any_sequence_is_consistent(steps: list[tuple[Moment, str]]) -> None:
    """Each kind once and in order; times move only with the status and never back; an end is final."""
    history = followed(steps)
    ended: tuple[Condition, ...] | None = None
    for (moment, _), conditions in zip(steps, history, strict=True):
        assert [one.kind for one in conditions] == list(Kind)
        held = {one.kind for one in conditions if one.truth is Truth.TRUE}
        assert not {Kind.COMPLETED, Kind.FAILED} <= held
        if held & {Kind.COMPLETED, Kind.FAILED}:
            assert not held & {Kind.RUNNING, Kind.PAUSED}
        assert all(one.reason.isalpha() and one.reason[0].isupper() for one in conditions)
        if ended is not None:
            assert conditions == ended
        elif moment.outcome is not None:
            ended = conditions
            wanted = Kind.COMPLETED if moment.outcome.code == 0 else Kind.FAILED
            assert wanted in held
    for before, after in itertools.pairwise(history):
        for old, new in zip(before, after, strict=True):
            assert new.since >= old.since
            if old.truth is new.truth:
                assert new.since == old.since


def test_a_run_that_succeeds() -> None:
    """Initialized with the workers, Running with the job, Completed at the end; each with its time."""
    stages = (Stage.STARTING, Stage.WAITING, Stage.LAUNCHING, Stage.RUNNING, Stage.ENDING)
    steps = [(Moment(stage=stage), f"2026-01-01T00:00:0{n}Z") for n, stage in enumerate(stages)]
    steps.append((Moment(stage=Stage.ENDED, outcome=GOOD), "2026-01-01T00:00:09Z"))
    history = [by_kind(one) for one in followed(steps)]
    assert history[1][Kind.INITIALIZED].reason == "WaitingForWorkers"
    assert history[2][Kind.INITIALIZED].truth is Truth.TRUE
    assert history[3][Kind.RUNNING].truth is Truth.TRUE
    assert history[4][Kind.RUNNING].truth is Truth.TRUE  # as the phase says while it ends
    last = history[-1]
    assert last[Kind.INITIALIZED].since == "2026-01-01T00:00:02Z"
    assert last[Kind.RUNNING].to_json() == {
        "type": "Running",
        "status": "False",
        "reason": "Ended",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:09Z",
    }
    assert last[Kind.COMPLETED].message == "the job succeeded"
    assert last[Kind.FAILED].truth is Truth.FALSE


def test_a_pause() -> None:
    """Paused holds while the ranks are stopped, Running does not; resumed, both turn."""
    stages = (Stage.RUNNING, Stage.PAUSED, Stage.RESUMING, Stage.RUNNING)
    history = [by_kind(one) for one in followed([(Moment(stage=s), "t") for s in stages])]
    assert [one[Kind.PAUSED].truth.value for one in history] == ["False", "True", "False", "False"]
    assert [one[Kind.RUNNING].truth.value for one in history] == ["True", "False", "False", "True"]


def test_replicas_that_fail_or_fall_silent() -> None:
    """ReplicaFailure names the first one; a retry on whole workers takes it back."""

    def of(*phases: Phase) -> Condition:
        replicas = [
            Task(name=f"w{n}", role="worker", phase=phase, reason=f"w{n} was lost")
            for n, phase in enumerate(phases)
        ]
        moment = Moment(stage=Stage.RUNNING, tasks=replicas)
        return by_kind(advance((), moment, "t"))[Kind.REPLICA_FAILURE]

    assert of(Phase.RUNNING).truth is Truth.FALSE
    assert of(Phase.RUNNING, Phase.FAILED, Phase.FAILED).message == "w1 was lost; and 1 more"
    assert of(Phase.UNKNOWN).truth is Truth.UNKNOWN
    assert of(Phase.UNKNOWN, Phase.FAILED).truth is Truth.TRUE


def test_a_job_that_nobody_answers_for() -> None:
    """Running is Unknown while nobody on whom it runs answers."""
    moment = Moment(stage=Stage.RUNNING, silent=True)
    assert by_kind(advance((), moment, "t"))[Kind.RUNNING].truth is Truth.UNKNOWN


def test_reasons() -> None:
    """Our own code says more than the fault; a program that ends with such a code is no reason."""
    assert reason_of(BAD) == "WorkerLost"
    for code in (241, 247):
        assert reason_of(Outcome(code=code, fault=Fault.USER, message="m")) == "JobFailed"
    assert reason_of(Outcome(code=143, fault=Fault.SIGNAL, message="m")) == "Stopped"


@given(st.lists(tasks, max_size=9), st.none() | st.integers(0, 12))
def test_the_aggregate_counts_every_worker_once(seen: list[Task], expected: int | None) -> None:
    """The counts add up to the workers seen or expected, whichever are more; a launcher is none."""
    launcher = Task(name="l", role="launcher", phase=Phase.PAUSED)
    counts = aggregate([launcher, *seen], expected)
    assert list(counts) == ["pending", "running", "succeeded", "failed", "unknown"]
    assert sum(counts.values()) == max(len(seen), expected or 0)
    for phase in (Phase.RUNNING, Phase.FAILED):
        assert counts[phase.value.lower()] == sum(one.phase is phase for one in seen)


def test_attempts() -> None:
    """An attempt tells its number and kind, and how it ended once it has."""
    attempt = Attempt(number=2, kind=retry.Kind.LAUNCH_RETRY, began="t")
    wanted = {"number": 2, "kind": "launch-retry", "began": "t", "outcome": None}
    assert attempt.to_json() == wanted
    ended = Attempt(number=1, kind=retry.Kind.FIRST, began="t", outcome=BAD)
    assert ended.to_json()["outcome"] == {"code": 241, "message": "w1 was lost"}
