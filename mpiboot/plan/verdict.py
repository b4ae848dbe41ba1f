"""Evidence → outcome. mpirun's status is one witness among several."""

from __future__ import annotations

import signal as signals
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mpiboot.errors import ExitCode, MpibootError
from mpiboot.model.outcome import Failure, Fault, Outcome
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan.layout import Layout


@dataclass(frozen=True, kw_only=True)
class Lost:
    """A worker whose lease was lost while the job ran."""

    host: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was seen of a job.

    Attributes:
        code: mpirun's exit code, 128 + n for a signal.
        stop_signal: the signal that told the agent to stop before mpirun ended; None without.
        stderr: the end of the job's stderr.
        lost: workers lost before mpirun ended.
        leased: how many workers had a lease; the others are plain sshd and cannot testify.
        workers: how many workers took part.
        program_exists: whether the job's program, as a path, exists in the launcher's container.
    """

    code: int
    stop_signal: int | None
    stderr: str
    lost: Sequence[Lost]
    leased: int
    workers: int
    program_exists: bool = False


def judge(evidence: Evidence, dialect: Dialect, layout: Layout) -> Outcome:
    """Decide how the job ended."""
    failures = [_renamed(one, layout) for one in dialect.failures(evidence.stderr)]
    lost = [
        Failure(message=f"{one.host} was lost: {one.why}", host=one.host) for one in evidence.lost
    ]
    witness = f"mpirun ended with {evidence.code}"
    silent = evidence.workers - evidence.leased
    seen = [witness, f"{evidence.leased} of {evidence.workers} workers testify by lease"]
    if silent:
        seen.append(f"{silent} plain sshd: no evidence of their own")
    base = Outcome(
        code=evidence.code,
        fault=Fault.USER,
        message="",
        failures=tuple(lost + failures),
        ran=True,
        evidence=tuple(seen),
    )
    if evidence.stop_signal is not None:
        name = _signal_name(evidence.stop_signal)
        return replace(
            base,
            code=128 + evidence.stop_signal,
            fault=Fault.SIGNAL,
            message=f"stopped by {name} while the job ran",
        )
    return _by_evidence(base, evidence, dialect)


def _by_evidence(base: Outcome, evidence: Evidence, dialect: Dialect) -> Outcome:
    code, first = evidence.code, base.failures[0].message if base.failures else ""
    if evidence.lost and code == 0:
        message = f"mpirun says success, but {first}"
        return _infrastructure(base, ExitCode.FALSE_SUCCESS, message)
    if evidence.lost:
        return _infrastructure(base, ExitCode.WORKER_LOST, first)
    if code == 0:
        return replace(base, fault=Fault.NONE, message="the job succeeded")
    program = dialect.command_fault(evidence.stderr, exists=evidence.program_exists)
    if program is not None:
        what = "cannot be executed" if program == ExitCode.NOT_EXECUTABLE else "was not found"
        return replace(base, code=program, message=f"the job's program {what} on a worker")
    if dialect.start_failed(evidence.stderr):
        message = first or "mpirun could not start its daemons on the workers"
        return replace(_infrastructure(base, ExitCode.LAUNCH_FAILED, message), ran=False)
    return replace(base, message=first or _plain(code))


def _infrastructure(base: Outcome, code: ExitCode, message: str) -> Outcome:
    return replace(base, code=int(code), fault=Fault.INFRASTRUCTURE, message=message)


def _plain(code: int) -> str:
    if code > 128 and code - 128 in {int(one) for one in signals.Signals}:
        killed = f"the job was killed by {_signal_name(code - 128)}"
        return f"{killed} (out of memory?)" if code == 128 + signals.SIGKILL else killed
    return f"the job ended with {code}"


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _renamed(failure: Failure, layout: Layout) -> Failure:
    """Speak of hosts by the names that the user gave them."""
    if not failure.host:
        return failure
    name = layout.name_of(failure.host)
    return replace(failure, host=name, message=failure.message.replace(failure.host, name, 1))


def of_error(fault: BaseException) -> Outcome:
    """Turn a failure of the agent's own into the outcome of a job that never ran."""
    if isinstance(fault, MpibootError):
        kinds = {
            ExitCode.USAGE: Fault.CONFIGURATION,
            ExitCode.CONFIG: Fault.CONFIGURATION,
            ExitCode.NOT_EXECUTABLE: Fault.USER,
            ExitCode.NOT_FOUND: Fault.USER,
            ExitCode.DEADLINE: Fault.DEADLINE,
            ExitCode.INTERNAL: Fault.INTERNAL,
        }
        kind = kinds.get(fault.code, Fault.INFRASTRUCTURE)
        message = str(fault)
        return Outcome(
            code=int(fault.code), fault=kind, message=message, failures=(Failure(message=message),)
        )
    message = f"{type(fault).__name__}: {fault}"
    return Outcome(code=int(ExitCode.INTERNAL), fault=Fault.INTERNAL, message=message)


def of_stop(number: int, stage: str) -> Outcome:
    """Tell of a stop before the job ran."""
    return Outcome(
        code=128 + number,
        fault=Fault.SIGNAL,
        message=f"stopped by {_signal_name(number)} while {stage}",
    )
