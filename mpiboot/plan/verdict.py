"""Evidence → outcome. mpirun's status is one witness among several."""

from __future__ import annotations

import signal as signals
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mpiboot.errors import ExitCode, MpibootError
from mpiboot.model.outcome import Failure, Fault, Outcome
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan import ranks
from mpiboot.plan.layout import Layout
from mpiboot.plan.ranks import End, Ranks


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
        stderr: the end of what mpirun itself wrote to stderr, and the ranks where no wrapper is.
        lost: workers lost before mpirun ended.
        leased: how many workers had a lease; the others are plain sshd and cannot testify.
        workers: how many workers took part.
        program_exists: whether the job's program, as a path, exists in the launcher's container.
        ranks: what the ranks' wrappers reported.
        expected: hosts on which at least one rank must have run.
        start_s: after how many seconds mpirun was stopped because ranks had not started; else None.
        unreachable: workers that could not connect to this container then, with the reason.
        lingered: whether mpirun was stopped because it did not end after its last rank.
    """

    code: int
    stop_signal: int | None
    stderr: str
    lost: Sequence[Lost]
    leased: int
    workers: int
    program_exists: bool = False
    ranks: Ranks = field(default_factory=Ranks)
    expected: Sequence[str] = ()
    start_s: float | None = None
    unreachable: Mapping[str, str] = field(default_factory=dict)
    lingered: bool = False

    @property
    def missing(self) -> list[str]:
        """Hosts on which a rank should have started, and none did."""
        if not self.ranks.np:
            return []
        seen = set(self.ranks.started.values())
        return [host for host in self.expected if host not in seen]


def judge(evidence: Evidence, dialect: Dialect, layout: Layout) -> Outcome:
    """Decide how the job ended."""
    survived = dialect.survivor_code(evidence.stderr)
    if survived is not None:
        evidence = replace(evidence, ranks=ranks.first_causes(evidence.ranks, survived))
    told = [_renamed(one, layout) for one in dialect.failures(evidence.stderr)]
    lost = [
        Failure(message=f"{one.host} was lost: {one.why}", host=one.host) for one in evidence.lost
    ]
    base = Outcome(
        code=evidence.code,
        fault=Fault.USER,
        message="",
        failures=tuple(lost + _merged(told, evidence.ranks)),
        ran=True,
        evidence=tuple(_testimony(evidence)),
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


def _testimony(evidence: Evidence) -> Iterator[str]:
    yield f"mpirun ended with {evidence.code}"
    yield f"{evidence.leased} of {evidence.workers} workers testify by lease"
    silent = evidence.workers - evidence.leased
    if silent:
        yield f"{silent} plain sshd: no evidence of their own"
    seen = evidence.ranks
    if seen.np:
        yield f"{len(seen.started)} of {seen.np} ranks started, {len(seen.ends)} ended"
    if evidence.lingered:
        yield "mpirun did not end after its last rank, and was stopped"


def _merged(told: Sequence[Failure], seen: Ranks) -> list[Failure]:
    """Put an abort first, which only mpirun tells; then what the ranks report, then the rest."""
    aborts = [one for one in told if _is_abort(one)]
    known = {one.rank for one in aborts}
    reported = [of_end(end) for end in seen.failures if end.rank not in known]
    known.update(one.rank for one in reported)
    return [
        *aborts,
        *reported,
        *(
            one
            for one in told
            if not _is_abort(one) and (one.rank is None or one.rank not in known)
        ),
    ]


def _is_abort(failure: Failure) -> bool:
    return "called MPI_Abort" in failure.message


def of_end(end: End) -> Failure:
    """Put the end of a rank into words."""
    who = f"rank {end.rank} on {end.host}"
    if end.why:
        message = f"{who}: {end.detail or end.why}"
    elif end.signal is not None:
        message = f"{who} was killed by {_signal_name(end.signal)}"
    else:
        message = f"{who} ended with {end.code}"
    return Failure(message=message, host=end.host, rank=end.rank, signal=end.signal, code=end.code)


def _by_evidence(base: Outcome, evidence: Evidence, dialect: Dialect) -> Outcome:
    first = base.failures[0].message if base.failures else ""
    failed = evidence.ranks.failures
    if evidence.lost and evidence.code == 0:
        message = f"mpirun says success, but {first}"
        return _infrastructure(base, ExitCode.FALSE_SUCCESS, message)
    if evidence.lost:
        return _infrastructure(base, ExitCode.WORKER_LOST, first)
    if evidence.start_s is not None:
        return _infrastructure(base, ExitCode.LAUNCH_FAILED, _too_late(evidence))
    if failed and failed[0].why:
        return _never_ran(base, failed[0])
    if evidence.lingered or evidence.code == 0:
        return _success(base, evidence, first)
    program = dialect.command_fault(evidence.stderr, exists=evidence.program_exists)
    if program is not None:
        what = "cannot be executed" if program == ExitCode.NOT_EXECUTABLE else "was not found"
        return replace(base, code=program, message=f"the job's program {what} on a worker")
    if dialect.start_failed(evidence.stderr):
        message = first or "mpirun could not start its daemons on the workers"
        return replace(_infrastructure(base, ExitCode.LAUNCH_FAILED, message), ran=False)
    code = _code(base, evidence, dialect)
    return replace(base, code=code, message=first or _plain(code))


def _too_late(evidence: Evidence) -> str:
    where = ", ".join(evidence.missing) or "some hosts"
    message = f"not all ranks had started {evidence.start_s:g} s after mpirun; missing on {where}"
    if evidence.unreachable:
        host, why = next(iter(evidence.unreachable.items()))
        message += (
            f"; {host} cannot connect to this container ({why}): does a firewall or a network policy"
            " forbid it?"
        )
    return message


def _success(base: Outcome, evidence: Evidence, first: str) -> Outcome:
    """Believe in success only where the ranks do not say otherwise."""
    failed = evidence.ranks.failures
    if failed:
        return replace(base, code=failed[0].status, message=first)
    if evidence.missing:
        where = ", ".join(evidence.missing)
        message = f"mpirun says success, but no rank ran on {where}"
        return _infrastructure(base, ExitCode.FALSE_SUCCESS, message)
    return replace(base, code=0, fault=Fault.NONE, failures=(), message="the job succeeded")


def _never_ran(base: Outcome, end: End) -> Outcome:
    """Judge a rank whose program could not do its work at all."""
    kinds = {"other mpi": Fault.CONFIGURATION, "no directory": Fault.CONFIGURATION}
    message = base.failures[0].message
    return replace(base, code=end.status, fault=kinds.get(end.why, Fault.USER), message=message)


def _code(base: Outcome, evidence: Evidence, dialect: Dialect) -> int:
    """Choose between what mpirun says and what the rank that failed first says."""
    translated = dialect.exit_code(evidence.code, evidence.stderr)
    aborts = [one.code for one in base.failures if _is_abort(one) and one.code is not None]
    if aborts:
        return aborts[0] & 0xFF or translated
    failed = evidence.ranks.failures
    return failed[0].status if failed else translated


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
