"""Debug, pause, resume: what is asked and what happens → what follows, and every path ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError
from mpiboot.model.outcome import Fault, Outcome
from mpiboot.plan import departure, modes
from mpiboot.plan.modes import RESTING, Asked, Event, Mode, Refused, Verb

STEPS = st.lists(st.one_of(st.sampled_from(list(Verb)), st.sampled_from(list(Event))), max_size=30)


def walk(mode: Mode, steps: list[Verb | Event], *, debug: bool) -> Mode:
    for step in steps:
        if isinstance(step, Event):
            mode = modes.after(mode, step, debug=debug)
        else:
            heard = modes.hear(mode, Asked(verb=step), debug=debug)
            mode = mode if isinstance(heard, Refused) else heard
    return mode


def test_a_pause_and_what_follows() -> None:
    """Running → pausing → paused → resuming → running → ending."""
    steps: list[Verb | Event] = [Event.STARTED, Verb.PAUSE]
    assert walk(Mode.WAITING, steps, debug=False) is Mode.PAUSING
    steps += [Event.ENDED]
    assert walk(Mode.WAITING, steps, debug=False) is Mode.PAUSED
    steps += [Verb.RESUME]
    assert walk(Mode.WAITING, steps, debug=False) is Mode.RESUMING
    steps += [Event.AGAIN, Event.STARTED]
    assert walk(Mode.WAITING, steps, debug=False) is Mode.RUNNING
    steps += [Event.ENDED]
    assert walk(Mode.WAITING, steps, debug=False) is Mode.ENDING


def test_a_run_in_debug_mode_and_what_follows() -> None:
    """Idle again after each end, also after a preparation that failed."""
    steps: list[Verb | Event] = [Event.PREPARED]
    assert walk(Mode.PREPARING, steps, debug=True) is Mode.IDLE
    steps += [Verb.RUN, Event.STARTED, Event.ENDED]
    assert walk(Mode.PREPARING, steps, debug=True) is Mode.IDLE
    steps += [Verb.RUN, Event.ENDED, Verb.RUN, Event.STARTED, Verb.PAUSE, Event.ENDED]
    assert walk(Mode.PREPARING, steps, debug=True) is Mode.PAUSED
    steps += [Verb.RESUME, Event.STARTED, Event.ENDED]
    assert walk(Mode.PREPARING, steps, debug=True) is Mode.IDLE


@pytest.mark.parametrize(
    ("mode", "verb", "debug", "why"),
    [
        (Mode.WAITING, Verb.PAUSE, False, "not running: the launcher waits"),
        (Mode.RESUMING, Verb.PAUSE, False, "not running: it is being resumed"),
        (Mode.PAUSED, Verb.PAUSE, False, "paused already"),
        (Mode.PAUSING, Verb.PAUSE, False, "pausing already"),
        (Mode.RUNNING, Verb.RESUME, False, "not paused: it runs"),
        (Mode.RUNNING, Verb.RUN, False, "not in debug mode (--debug)"),
        (Mode.RUNNING, Verb.RUN, True, "not now: it runs"),
        (Mode.PREPARING, Verb.RUN, True, "not now: the launcher waits"),
        (Mode.PAUSED, Verb.RUN, True, "mpiboot resume"),
        (Mode.ENDING, Verb.RESUME, False, "is ending"),
    ],
)
def test_what_cannot_be_done_now_is_refused(mode: Mode, verb: Verb, debug: bool, why: str) -> None:
    """In words that say what is instead."""
    heard = modes.hear(mode, Asked(verb=verb), debug=debug)
    assert isinstance(heard, Refused)
    assert why in heard.reason


@given(st.sampled_from(list(Mode)), STEPS, st.booleans())
def test_every_path_ends(start: Mode, steps: list[Verb | Event], debug: bool) -> None:
    """A stop ends each; without one, an attempt's end leads to the end or to a rest."""
    mode = walk(start, steps, debug=debug)
    assert modes.after(mode, Event.STOPPED, debug=debug) is Mode.ENDING
    assert walk(Mode.ENDING, steps, debug=debug) is Mode.ENDING
    through = modes.after(modes.after(mode, Event.PREPARED, debug=debug), Event.ENDED, debug=debug)
    assert through in (*RESTING, Mode.ENDING)


@given(STEPS)
def test_without_debug_a_job_rests_only_where_it_was_paused(steps: list[Verb | Event]) -> None:
    """Nobody is left idle who has not asked for it."""
    mode = walk(Mode.WAITING, steps, debug=False)
    assert mode is not Mode.IDLE
    if Verb.PAUSE not in steps:
        assert mode not in (Mode.PAUSING, Mode.PAUSED, Mode.RESUMING)


def test_the_command_after_a_pause() -> None:
    """What is given with it, else the setting, else what ran last."""
    assert modes.command_again(["a"], ["b"], ["c"]) == ["a"]
    assert modes.command_again([], ["b"], ["c"]) == ["b"]
    assert modes.command_again([], [], ["c"]) == ["c"]
    assert modes.words_of("python t.py --from 'last one'", "--x")[-1] == "last one"
    with pytest.raises(ConfigError, match="--resume-command"):
        modes.words_of("python 'x", "--resume-command")


@pytest.mark.parametrize(
    ("leave", "failure_is_final", "success", "failure"),
    [
        ("always", True, (True, False), (True, False)),
        ("always", False, (True, False), (False, False)),
        ("on-success", True, (True, False), (False, False)),
        ("never", True, (False, True), (False, True)),
    ],
)
def test_when_workers_leave(
    leave: str, failure_is_final: bool, success: tuple[bool, bool], failure: tuple[bool, bool]
) -> None:
    """The last word is final, or to stay for ever, or neither: then the retry grace counts."""
    for code, told in ((0, success), (3, failure)):
        outcome = Outcome(code=code, fault=Fault.USER, message="", ran=True)
        over = departure.last_word(outcome, leave, failure_is_final=failure_is_final)
        assert (over.final, over.stay) == told
        assert (over.code, over.ran) == (code, True)
