"""Outcome of an attempt, what was tried so far, and a clock → the next step of the launcher."""

from __future__ import annotations

import enum

from mpiboot.errors import ExitCode
from mpiboot.model.outcome import Fault, Outcome
from mpiboot.model.record import dataclass, replace

_PAUSE_S = 1.0
_MAX_PAUSE_S = 30.0


class Kind(str, enum.Enum):
    """Why an attempt is made."""

    FIRST = "first"
    LAUNCH_RETRY = "launch-retry"
    RESTART = "restart"
    RESUME = "resume"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How persistent the launcher is.

    Attributes:
        launch_retries: further tries of a start-up that failed before any rank ran.
        max_restarts: further runs of a job that failed.
    """

    launch_retries: int
    max_restarts: int


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What was tried so far.

    Attributes:
        launch_retries: since the last attempt whose ranks ran.
        restarts: of the whole job.
    """

    launch_retries: int = 0
    restarts: int = 0


@dataclass(frozen=True, kw_only=True)
class Next:
    """What comes after an attempt.

    Attributes:
        kind: why another one is made; None: it was the last one.
        pause_s: time until then.
        tally: the count with it.
        reason: in words, for the log.
    """

    kind: Kind | None
    tally: Tally
    pause_s: float = 0.0
    reason: str = ""


def after(outcome: Outcome, tally: Tally, terms: Terms, *, stopped: bool) -> Next:
    """Decide whether an attempt is followed by another one.

    A job whose ranks ran is never started again unless the user has asked for it: they may have done
    work that must not be done twice. What needs a person (configuration) is never tried again.

    Args:
        outcome: of the attempt.
        tally: before this decision.
        terms: how persistent to be.
        stopped: whether the launcher has to end: by a signal, or its deadline.
    """
    if stopped or outcome.code == 0:
        return Next(kind=None, tally=tally)
    if outcome.code == ExitCode.LAUNCH_FAILED and not outcome.ran and not outcome.permanent:
        if tally.launch_retries >= terms.launch_retries:
            return Next(kind=None, tally=tally)
        number = tally.launch_retries + 1
        return Next(
            kind=Kind.LAUNCH_RETRY,
            tally=replace(tally, launch_retries=number),
            pause_s=_pause(number),
            reason=f"start-up failed, retry {number} of {terms.launch_retries}",
        )
    if not outcome.ran or outcome.fault not in (Fault.USER, Fault.INFRASTRUCTURE):
        return Next(kind=None, tally=tally)
    if tally.restarts >= terms.max_restarts:
        return Next(kind=None, tally=tally)
    number = tally.restarts + 1
    return Next(
        kind=Kind.RESTART,
        tally=Tally(restarts=number),
        pause_s=_pause(number),
        reason=f"restart {number} of {terms.max_restarts}",
    )


def _pause(number: int) -> float:
    return float(min(_PAUSE_S * 2 ** min(number - 1, 10), _MAX_PAUSE_S))
