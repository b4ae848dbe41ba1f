"""What an agent does and knows, and the conditions so far → the conditions of now."""

from __future__ import annotations

from collections.abc import Sequence

from mpiboot.errors import ExitCode
from mpiboot.model.outcome import Fault, Outcome, Phase, Stage
from mpiboot.model.record import dataclass
from mpiboot.model.standing import Condition, Kind, Task, Truth

_GOING = (Stage.READY, Stage.RUNNING)
_BEGUN = (Stage.LAUNCHING, *_GOING, Stage.PAUSED)  # whoever is here has found all it needs
_REASONS = {
    Fault.USER: "JobFailed",
    Fault.CONFIGURATION: "WrongConfiguration",
    Fault.INFRASTRUCTURE: "InfrastructureFailed",
    Fault.DEADLINE: "DeadlineExceeded",
    Fault.SIGNAL: "Stopped",
    Fault.INTERNAL: "InternalFault",
}
_OWN_CODES: dict[int, str] = {
    ExitCode.NOT_READY: "WorkersNotReady",
    ExitCode.WORKER_LOST: "WorkerLost",
    ExitCode.LAUNCH_FAILED: "LaunchFailed",
    ExitCode.FALSE_SUCCESS: "FalseSuccess",
    ExitCode.DEADLINE: "DeadlineExceeded",
    ExitCode.LAUNCHER_LOST: "LauncherLost",
    ExitCode.NEVER_USED: "NeverUsed",
    ExitCode.STALLED: "Stalled",
}
_MESSAGE = 1024  # as much as Kubernetes' controllers keep


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What an agent does and knows now.

    Attributes:
        stage: what it does.
        outcome: how it ended; None before.
        silent: nobody on whom the job runs answers any more.
        tasks: the replicas; those that have failed, or do not answer, are enough.
    """

    stage: Stage
    outcome: Outcome | None = None
    silent: bool = False
    tasks: Sequence[Task] = ()


_Verdict = tuple[Truth, str, str]  # status, reason, message


def advance(before: Sequence[Condition], now: Moment, at: str) -> tuple[Condition, ...]:
    """Return the conditions of now; the time of each moves only with its status, and never back.

    What has ended stays ended: once Completed or Failed is True it is so for ever.

    Args:
        before: those of the moment before; empty at the start.
        now: what is known.
        at: the time of now, RFC 3339 in UTC, always with the same number of digits.
    """
    known = {one.kind: one for one in before}
    if any(known[kind].truth is Truth.TRUE for kind in (Kind.COMPLETED, Kind.FAILED) if known):
        return tuple(before)
    initialized = known.get(Kind.INITIALIZED)
    wanted = {
        Kind.INITIALIZED: _initialized(now, initialized),
        Kind.RUNNING: _running(now, known.get(Kind.RUNNING)),
        Kind.REPLICA_FAILURE: _replica_failure(now),
        Kind.COMPLETED: _completed(now),
        Kind.FAILED: _failed(now),
        Kind.PAUSED: _paused(now),
    }
    return tuple(_moved(known.get(kind), kind, verdict, at) for kind, verdict in wanted.items())


def _moved(before: Condition | None, kind: Kind, verdict: _Verdict, at: str) -> Condition:
    truth, reason, message = verdict
    since = at
    if before is not None:
        # A wall clock may be set back.
        since = before.since if before.truth is truth else max(at, before.since)
    return Condition(kind=kind, truth=truth, reason=reason, message=message[:_MESSAGE], since=since)


def _initialized(now: Moment, before: Condition | None) -> _Verdict:
    if before is not None and before.truth is Truth.TRUE:
        return before.truth, before.reason, before.message
    if now.outcome is None and now.stage in _BEGUN:
        return Truth.TRUE, "Initialized", "all that the job needs is there"
    if now.outcome is not None:
        return Truth.FALSE, reason_of(now.outcome), now.outcome.message
    waiting = now.stage is Stage.WAITING
    return Truth.FALSE, "WaitingForWorkers" if waiting else "Starting", ""


def _running(now: Moment, before: Condition | None) -> _Verdict:
    if now.outcome is not None or now.stage is Stage.ENDED:
        return Truth.FALSE, "Ended", ""
    if now.stage is Stage.ENDING and before is not None:
        return before.truth, before.reason, before.message
    if now.stage in _GOING:
        if now.silent:
            return Truth.UNKNOWN, "Silent", "nobody on whom the job runs answers"
        return Truth.TRUE, "Running" if now.stage is Stage.RUNNING else "Ready", ""
    if now.stage in (Stage.IDLE, Stage.PAUSED, Stage.RESUMING):
        return Truth.FALSE, now.stage.value.capitalize(), ""
    return Truth.FALSE, "NotStarted", ""


def _replica_failure(now: Moment) -> _Verdict:
    failed = [one for one in now.tasks if one.role == "worker" and one.phase is Phase.FAILED]
    unseen = [one for one in now.tasks if one.role == "worker" and one.phase is Phase.UNKNOWN]
    if failed:
        return Truth.TRUE, "WorkerFailed", _named(failed)
    if unseen:
        return Truth.UNKNOWN, "WorkerSilent", _named(unseen)
    return Truth.FALSE, "NoFailure", ""


def _named(tasks: Sequence[Task]) -> str:
    first = tasks[0]
    more = f"; and {len(tasks) - 1} more" if len(tasks) > 1 else ""
    return f"{first.reason or first.name}{more}"


def _completed(now: Moment) -> _Verdict:
    if now.outcome is None:
        return Truth.FALSE, "NotEnded", ""
    if now.outcome.code == 0:
        return Truth.TRUE, "Succeeded", now.outcome.message
    return Truth.FALSE, reason_of(now.outcome), ""


def _failed(now: Moment) -> _Verdict:
    if now.outcome is None:
        return Truth.FALSE, "NotEnded", ""
    if now.outcome.code == 0:
        return Truth.FALSE, "Succeeded", ""
    return Truth.TRUE, reason_of(now.outcome), now.outcome.message


def _paused(now: Moment) -> _Verdict:
    if now.outcome is None and now.stage is Stage.PAUSED:
        return Truth.TRUE, "Paused", "the ranks were stopped; mpiboot resume starts them again"
    if now.stage is Stage.RESUMING:
        return Truth.FALSE, "Resuming", ""
    return Truth.FALSE, "NotPaused", ""


def reason_of(outcome: Outcome) -> str:
    """Name an outcome in one word: its own code says more than its fault."""
    if outcome.code == 0:
        return "Succeeded"
    reason = _REASONS.get(outcome.fault, "Failed")
    # A program may end with one of our codes; of these a stall alone is for its user to mend.
    if outcome.fault is Fault.USER and not outcome.stalled:
        return reason
    return _OWN_CODES.get(outcome.code, reason)
