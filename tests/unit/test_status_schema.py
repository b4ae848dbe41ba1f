"""The schema of the status file knows what the code knows, and no more."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.outcome import Failure, Fault, Outcome, Phase, Stage, phase_of
from mpiboot.model.standing import WORKER_PHASES, Kind, Task, Truth, aggregate
from mpiboot.plan import retry
from mpiboot.plan.attempts import Attempt
from mpiboot.plan.conditions import Moment, advance
from mpiboot.plan.gather import Reach
from mpiboot.report import schema, status
from mpiboot.report.status import Standing
from mpiboot.report.timeline import Timeline, wall_clock
from tests.helpers.schema import problems

SCHEMA: dict[str, Any] = json.loads(schema.text())
PARTS = SCHEMA["$defs"]

words = st.text(max_size=20)
counts = st.integers(0, 10**6)
failures = st.builds(
    Failure,
    message=words,
    host=words,
    rank=st.none() | counts,
    signal=st.none() | st.integers(1, 64),
    code=st.none() | st.integers(0, 255),
    stderr=st.lists(words, max_size=3).map(tuple),
)
outcomes = st.builds(
    Outcome,
    code=st.integers(0, 255),
    fault=st.sampled_from(Fault),
    message=st.text(max_size=1500),
    failures=st.lists(failures, max_size=3).map(tuple),
    ran=st.booleans(),
    evidence=st.lists(words, max_size=3).map(tuple),
)
workers = st.builds(
    Task,
    name=words,
    role=st.just("worker"),
    phase=st.sampled_from(WORKER_PHASES),
    reason=words,
    restarts=counts,
    host=words,
    slots=st.none() | counts,
)


def launcher_document(
    stages: list[Stage], tasks: list[Task], outcome: Outcome | None
) -> dict[str, object]:
    """Build the document of a launcher that went through some stages."""
    timeline = Timeline()
    known = advance((), Moment(stage=timeline.stage, tasks=tasks), wall_clock())
    for stage in stages:
        timeline.enter(stage)
        known = advance(known, Moment(stage=stage, tasks=tasks), wall_clock())
    if outcome is not None:
        timeline.enter(Stage.ENDED)
        ended = Moment(stage=Stage.ENDED, outcome=outcome, tasks=tasks)
        known = advance(known, ended, wall_clock())
    own = Task(name="l", role="launcher", phase=phase_of(timeline.stage, outcome), host="l")
    standing = Standing(
        phase=phase_of(timeline.stage, outcome), conditions=known, tasks=[own, *tasks]
    )
    details = {
        "command": ["true"],
        "expected": None,
        "ranks": {"expected": 2, "started": 1, "ended": 0},
        "hosts": [],
        "aggregate": aggregate(tasks, 3),
        "attempts": [
            Attempt(number=1, kind=retry.Kind.FIRST, began=wall_clock(), outcome=outcome).to_json()
        ],
        "launch_retries": 0,
        "restarts": 0,
    }
    return status.document("launcher", timeline, standing, details, outcome)


@given(
    st.lists(st.sampled_from([one for one in Stage if one is not Stage.ENDED]), max_size=6),
    st.lists(workers, max_size=3),
    st.none() | outcomes,
)
def test_any_sequence_of_stages_gives_a_valid_document(
    stages: list[Stage], tasks: list[Task], outcome: Outcome | None
) -> None:
    """Whatever way a job takes and however it ends, its status keeps to the schema."""
    document = launcher_document(stages, tasks, outcome)
    assert problems(json.loads(json.dumps(document))) == []


def test_the_schema_rejects_what_it_does_not_know() -> None:
    """A field too many or too few, at the top or below, is a fault: drift does not go unseen."""
    outcome = Outcome(code=7, fault=Fault.USER, message="m")
    good: dict[str, Any] = launcher_document([Stage.RUNNING], [], outcome)
    assert problems(good) == []
    assert problems({**good, "more": 1})
    assert problems({**good, "ready": True})  # a worker's
    assert problems({**good, "phase": "Succeeded"})
    assert problems({**good, "schema": 2})
    assert problems({**good, "conditions": good["conditions"][::-1]})
    assert problems({**good, "conditions": good["conditions"][:5]})
    assert problems({**good, "outcome": {**good["outcome"], "more": 1}})
    assert problems({**good, "attempts": [{"number": 0}]})
    running = launcher_document([Stage.RUNNING], [], None)
    for name in running:
        less = {key: value for key, value in running.items() if key != name}
        assert problems(less), name


def test_completed_and_failed_agree_with_the_outcome() -> None:
    """The schema itself refuses a failed job that says Completed."""
    good: dict[str, Any] = launcher_document(
        [Stage.RUNNING], [], Outcome(code=7, fault=Fault.USER, message="m")
    )
    wrong = [
        {**one, "status": "True"} if one["type"] == "Completed" else one
        for one in good["conditions"]
    ]
    assert problems({**good, "conditions": wrong})


@pytest.mark.parametrize(
    ("listed", "known"),
    [
        (SCHEMA["properties"]["phase"]["enum"], Phase),
        (SCHEMA["properties"]["stage"]["enum"], Stage),
        (PARTS["task"]["properties"]["phase"]["enum"], Phase),
        (PARTS["host"]["properties"]["state"]["enum"], Reach),
        (PARTS["attempt"]["properties"]["kind"]["enum"], retry.Kind),
        (PARTS["outcome"]["properties"]["fault"]["enum"], Fault),
        (PARTS["condition"]["properties"]["status"]["enum"], Truth),
    ],
)
def test_the_schema_lists_what_the_code_knows(listed: list[str], known: Iterable[Enum]) -> None:
    """Each value that the code can write is in the schema, and none besides."""
    assert set(listed) == {one.value for one in known}


def test_the_schema_names_the_conditions() -> None:
    """All kinds, in the order in which they are written."""
    named = SCHEMA["properties"]["conditions"]["prefixItems"]
    assert [one["allOf"][1]["properties"]["type"]["const"] for one in named] == [
        kind.value for kind in Kind
    ]
