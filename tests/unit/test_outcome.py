"""The outcome is short, valid JSON, root cause first; phases follow stages."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.outcome import (
    TERMINATION_LIMIT,
    Failure,
    Fault,
    Outcome,
    Phase,
    Stage,
    phase_of,
    termination_message,
)

failures = st.builds(
    Failure,
    message=st.text(max_size=3000),
    host=st.text(max_size=300),
    rank=st.none() | st.integers(0, 10**6),
    signal=st.none() | st.integers(1, 64),
    code=st.none() | st.integers(0, 255),
)
outcomes = st.builds(
    Outcome,
    code=st.integers(0, 255),
    fault=st.sampled_from(Fault),
    message=st.text(max_size=6000),
    failures=st.lists(failures, max_size=5).map(tuple),
    ran=st.booleans(),
    evidence=st.lists(st.text(max_size=2000), max_size=5).map(tuple),
)


@given(outcomes)
def test_the_termination_message_always_fits(outcome: Outcome) -> None:
    """At most 4096 bytes of valid JSON for any outcome, with code and fault in it."""
    text = termination_message(outcome, "launcher")
    assert len(text.encode()) <= TERMINATION_LIMIT
    data = json.loads(text)
    assert data["code"] == outcome.code
    assert data["fault"] == outcome.fault.value
    assert outcome.message.startswith(data["message"])


def test_the_root_cause_survives() -> None:
    """What does not fit is dropped from the end: evidence, then later failures."""
    many = tuple(Failure(message=f"{n} " + "x" * 900, host=f"w{n}") for n in range(9))
    outcome = Outcome(
        code=241,
        fault=Fault.INFRASTRUCTURE,
        message="w0 was lost",
        failures=many,
        evidence=("e" * 900,),
    )
    data = json.loads(termination_message(outcome, "launcher"))
    assert data["failures"][0]["host"] == "w0"
    assert data["message"] == "w0 was lost"
    assert 1 <= len(data["failures"]) < 9
    assert "evidence" not in data


def test_phases() -> None:
    """Pending until it serves or runs, then Running, then what the outcome says."""
    assert phase_of(Stage.WAITING, None) is Phase.PENDING
    assert phase_of(Stage.READY, None) is Phase.RUNNING
    assert phase_of(Stage.RUNNING, None) is Phase.RUNNING
    good = Outcome(code=0, fault=Fault.NONE, message="m")
    assert phase_of(Stage.ENDED, good) is Phase.SUCCEEDED
    assert phase_of(Stage.ENDED, Outcome(code=7, fault=Fault.USER, message="m")) is Phase.FAILED
