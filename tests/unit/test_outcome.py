"""The outcome is short, valid JSON, root cause first; phases follow stages."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.outcome import Failure, Fault, Outcome, Phase, Stage, phase_of
from mpiboot.model.termination import TERMINATION_LIMIT, cut, termination_message

# Anything: escapes, control characters, lone surrogates, characters of four bytes.
texts = st.text(st.characters(categories=None), max_size=3000) | st.sampled_from(
    ["\ud800" * 3000, "\x00" * 5000, "\U0001f600" * 4000, '"\\' * 4000, "x" * 100_000]
)
failures = st.builds(
    Failure,
    message=texts,
    host=texts,
    rank=st.none() | st.integers(0, 10**7),
    signal=st.none() | st.integers(1, 64),
    code=st.none() | st.integers(0, 255),
    stderr=st.lists(texts, max_size=4).map(tuple),
)
outcomes = st.builds(
    Outcome,
    code=st.integers(0, 255),
    fault=st.sampled_from(Fault),
    message=texts,
    failures=st.lists(failures, max_size=5).map(tuple),
    ran=st.booleans(),
    evidence=st.lists(texts, max_size=5).map(tuple),
)


def read(outcome: Outcome) -> dict[str, Any]:
    """Read the message as a strict parser does."""
    text = termination_message(outcome, "launcher")
    assert len(text.encode()) <= TERMINATION_LIMIT
    assert text.isascii()
    data: dict[str, Any] = json.loads(text)
    assert list(data)[:4] == ["role", "code", "fault", "message"]
    json.dumps(data, ensure_ascii=False).encode()  # no lone surrogates
    return data


@given(outcomes)
def test_the_termination_message_always_fits(outcome: Outcome) -> None:
    """At most 4096 bytes of JSON for any outcome; the root cause and the first rank are in it."""
    data = read(outcome)
    assert (data["role"], data["code"]) == ("launcher", outcome.code)
    assert data["fault"] == outcome.fault.value
    whole = outcome.message.encode(errors="replace").decode()
    assert whole.startswith(data["message"])
    assert data["message"] or not whole
    if not outcome.failures:
        return
    told = data["failures"]
    _assert_names(told[0], outcome.failures[0])
    ranks = [one for one in outcome.failures if one.rank is not None]
    if ranks:
        first = next(one for one in told if "rank" in one)
        _assert_names(first, ranks[0])
        if any(ranks[0].stderr):
            assert first["stderr"]
            last = ranks[0].stderr[-1].encode(errors="replace").decode()
            assert last.startswith(first["stderr"][-1])


def _assert_names(told: Mapping[str, object], failure: Failure) -> None:
    for key in ("rank", "signal", "code"):
        assert told.get(key) == getattr(failure, key)
    host = failure.host.encode(errors="replace").decode()
    assert host.startswith(str(told.get("host", "")))
    assert ("host" in told) == bool(host)


@given(texts, st.integers(0, 500))
def test_what_is_cut_takes_the_bytes_that_it_may(text: str, most: int) -> None:
    """The beginning of the text, never more bytes in JSON than allowed, all of it where it fits."""
    kept = cut(text, most)
    whole = text.encode(errors="replace").decode()
    assert whole.startswith(kept)
    assert len(json.dumps(kept)) - 2 <= most
    if len(json.dumps(whole)) - 2 <= most:
        assert kept == whole


def test_the_root_cause_survives() -> None:
    """What does not fit is left out from the end: evidence, then later failures."""
    many = tuple(Failure(message=f"{n} " + "x" * 900, host=f"w{n}") for n in range(9))
    outcome = Outcome(
        code=241,
        fault=Fault.INFRASTRUCTURE,
        message="w0 was lost",
        failures=many,
        evidence=("e" * 900,),
    )
    data = read(outcome)
    assert [one["host"] for one in data["failures"]][:2] == ["w0", "w1"]
    assert data["message"] == "w0 was lost"
    assert 1 <= len(data["failures"]) < 9
    assert "evidence" not in data


def test_a_rank_that_failed_late_among_thousands_is_named() -> None:
    """5,000 failures without a rank, then one with: both the first and that one are there, soon."""
    lost = tuple(Failure(message=f"w{n} was lost", host=f"w{n}") for n in range(5000))
    rank = Failure(
        message="rank 7 on w9 was killed by SIGSEGV",
        host="w9",
        rank=7,
        signal=11,
        stderr=("first", "Segmentation fault"),
    )
    outcome = Outcome(
        code=241, fault=Fault.INFRASTRUCTURE, message="w0 was lost", failures=(*lost, rank)
    )
    begun = time.monotonic()
    data = read(outcome)
    assert time.monotonic() - begun < 5
    assert data["failures"][0] == {"message": "w0 was lost", "host": "w0"}
    assert data["failures"][1] == rank.to_json()
    assert len(data["failures"]) > 10


def test_a_table_of_hosts_is_kept_where_it_is_all_there_is() -> None:
    """Without failures the message itself may fill the room."""
    table = "240: workers not ready\n" + "\n".join(f"w{n} connection refused" for n in range(200))
    data = read(Outcome(code=240, fault=Fault.INFRASTRUCTURE, message=table))
    assert len(data["message"]) > 3000


def test_phases() -> None:
    """Pending until it serves or runs, then Running, then what the outcome says."""
    assert phase_of(Stage.WAITING, None) is Phase.PENDING
    assert phase_of(Stage.READY, None) is Phase.RUNNING
    assert phase_of(Stage.RUNNING, None) is Phase.RUNNING
    assert phase_of(Stage.RUNNING, None, silent=True) is Phase.UNKNOWN
    assert phase_of(Stage.PAUSED, None) is Phase.PAUSED
    assert phase_of(Stage.RESUMING, None) is Phase.RESUMING
    good = Outcome(code=0, fault=Fault.NONE, message="m")
    assert phase_of(Stage.ENDED, good) is Phase.SUCCEEDED
    assert phase_of(Stage.ENDED, Outcome(code=7, fault=Fault.USER, message="m")) is Phase.FAILED
