"""What the launcher is doing + what somebody asks of it or what has happened → what it does next."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Sequence

from mpiboot.errors import ConfigError, MpibootError
from mpiboot.model.record import dataclass


class Mode(str, enum.Enum):
    """What the launcher is doing, as those who ask something of it see it."""

    PREPARING = "preparing"  # a job that is started by hand: workers, files, plan
    IDLE = "idle"  # until somebody starts it
    WAITING = "waiting"  # for workers, up to mpirun's start; also before another attempt
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"  # until somebody resumes it
    RESUMING = "resuming"  # as WAITING, after a pause
    ENDING = "ending"


RESTING = (Mode.IDLE, Mode.PAUSED)


class Verb(str, enum.Enum):
    """What can be asked of a launcher; also the name of the command."""

    RUN = "run"
    PAUSE = "pause"
    RESUME = "resume"


class Event(str, enum.Enum):
    """What has happened."""

    PREPARED = "prepared"  # or could not be: somebody is there to see why
    STARTED = "started"  # mpirun runs
    AGAIN = "again"  # the attempt failed, and another one follows
    ENDED = "ended"  # the attempt was the last one of this run
    STOPPED = "stopped"  # by a signal, or the deadline


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What somebody asks.

    Attributes:
        verb: what to do.
        command: of the job from now on; empty: as it is.
        release: whether workers leave while the job is paused.
    """

    verb: Verb
    command: tuple[str, ...] = ()
    release: bool = False


@dataclass(frozen=True, kw_only=True)
class Refused:
    """It cannot be done now, and why."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Purpose:
    """What an attempt is for.

    Attributes:
        resuming: the job was paused.
        rehearsal: nothing is started: everything is prepared, and the plan is shown.
        fault: it cannot be: workers that are up are reached, to be released.
    """

    resuming: bool = False
    rehearsal: bool = False
    fault: MpibootError | None = None


def hear(mode: Mode, asked: Asked, *, debug: bool) -> Mode | Refused:
    """Decide whether what is asked can be done now; return the mode that follows."""
    if mode is Mode.ENDING:
        return Refused(reason="the launcher is ending")
    match asked.verb:
        case Verb.PAUSE:
            return _pause(mode)
        case Verb.RESUME:
            if mode is Mode.PAUSED:
                return Mode.RESUMING
            return Refused(reason=f"the job is not paused: {_WORDS[mode]}")
        case Verb.RUN:
            return _run(mode, debug=debug)


def _pause(mode: Mode) -> Mode | Refused:
    if mode is Mode.RUNNING:
        return Mode.PAUSING
    if mode in (Mode.PAUSING, Mode.PAUSED):
        return Refused(reason=f"the job is {mode.value} already")
    return Refused(reason=f"the job is not running: {_WORDS[mode]}")


def _run(mode: Mode, *, debug: bool) -> Mode | Refused:
    if mode is Mode.IDLE:
        return Mode.WAITING
    if mode is Mode.PAUSED:
        return Refused(reason="the job is paused: go on with `mpiboot resume`")
    if not debug:
        return Refused(
            reason="this launcher is not in debug mode (--debug): it starts its job itself"
        )
    return Refused(reason=f"not now: {_WORDS[mode]}")


_WORDS = {
    Mode.PREPARING: "the launcher waits for workers and makes its plan",
    Mode.IDLE: "the launcher is idle",
    Mode.WAITING: "the launcher waits for workers and starts it",
    Mode.RUNNING: "it runs",
    Mode.PAUSING: "it is being paused",
    Mode.PAUSED: "it is paused",
    Mode.RESUMING: "it is being resumed",
    Mode.ENDING: "the launcher is ending",
}


def after(mode: Mode, event: Event, *, debug: bool) -> Mode:
    """Return the mode after something has happened; what does not fit changes nothing."""
    if event is Event.STOPPED or mode is Mode.ENDING:
        return Mode.ENDING
    if mode is Mode.PAUSING:
        # However mpirun has ended: the ranks were told to save their work, so the job is not over.
        return Mode.PAUSED if event in (Event.ENDED, Event.AGAIN) else mode
    if event is Event.PREPARED:
        return Mode.IDLE if mode is Mode.PREPARING else mode
    if mode in RESTING or mode is Mode.PREPARING:
        return mode
    match event:
        case Event.STARTED:
            return Mode.RUNNING
        case Event.AGAIN:
            return Mode.RESUMING if mode is Mode.RESUMING else Mode.WAITING
        case _:
            return Mode.IDLE if debug else Mode.ENDING


def words_of(text: str, flag: str) -> tuple[str, ...]:
    """Split a command as a shell would; empty for none.

    Raises:
        ConfigError: a quote is open.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as fault:
        raise ConfigError(
            f"{flag} {text!r} cannot be split into words: {str(fault).lower()}",
            hint="quote it as in a shell",
        ) from fault


def command_again(
    given: Sequence[str], resume_command: Sequence[str], present: Sequence[str]
) -> list[str]:
    """Return the job's command after a pause, or for a restart of the whole job.

    Args:
        given: with `mpiboot resume`; empty: none.
        resume_command: of the settings; empty: none.
        present: the one that ran last.
    """
    return list(given or resume_command or present)
