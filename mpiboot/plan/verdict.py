"""Evidence → outcome. mpirun's status is one witness among several."""

from __future__ import annotations

import errno
import signal as signals
from collections.abc import Iterator, Sequence

from mpiboot.errors import ExitCode, MpibootError
from mpiboot.model.counting import counted
from mpiboot.model.outcome import Failure, Fault, Outcome
from mpiboot.model.record import replace
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan import causes, daemons, limits, ranks
from mpiboot.plan.evidence import Cause, Evidence, Halt, Lost, Testimony
from mpiboot.plan.layout import Layout
from mpiboot.plan.ranks import End, Ranks

_GUESS = " (out of memory?)"


def judge(evidence: Evidence, dialect: Dialect, layout: Layout) -> Outcome:
    """Decide how the job ended."""
    if evidence.own:
        code = dialect.exit_code(evidence.code, evidence.stderr)
        evidence = replace(evidence, ranks=ranks.that_tell(evidence.ranks, code))
    heard = _heard(evidence)
    survived = dialect.survivor_code(heard)
    if survived is not None:
        evidence = replace(evidence, ranks=ranks.first_causes(evidence.ranks, survived))
    told = [_renamed(one, layout) for one in dialect.failures(heard)]
    evidence = replace(evidence, lost=_losses(evidence, told, survived))
    lost = [
        Failure(message=f"{one.host} was lost: {one.why}", host=one.host) for one in evidence.lost
    ]
    seen = [
        limits.explained(_with_memory(one, evidence), evidence)
        for one in _merged(told, evidence.ranks)
    ]
    base = Outcome(
        code=evidence.code,
        fault=Fault.USER,
        message="",
        failures=tuple(lost + seen),
        ran=bool(evidence.ranks.started) or not evidence.ranks.np,
        evidence=tuple(_testimony(evidence)),
        lost=tuple(one.host for one in evidence.lost),
    )
    if evidence.halt is not None:
        return _halted(base, evidence.halt, evidence.warned_s)
    return _with_limit(_by_evidence(base, evidence, dialect), evidence)


def _with_limit(outcome: Outcome, evidence: Evidence) -> Outcome:
    """Name a limit of processes that refused some: whatever failed most likely failed of it."""
    refused = limits.refused(evidence) if outcome.code else ""
    message = outcome.message.removesuffix(_GUESS)  # what is known needs no guess
    return replace(outcome, message=f"{message}; {refused}") if refused else outcome


def _losses(evidence: Evidence, told: Sequence[Failure], survived: int | None) -> list[Lost]:
    """List the losses that belong to the job; a host whose daemon died by itself is one, too."""
    daemon = daemons.lost(told)
    found = [one for one in evidence.lost if _counts(one, evidence, daemon)]
    ended_by_us = evidence.halt is not None or evidence.lingered or evidence.start_s is not None
    if found or ended_by_us:
        return found
    host = daemons.blamed(told, evidence.ranks, evidence.code, survived)
    return [Lost(host=host, why=daemons.DIED)] if host else []


def _heard(evidence: Evidence) -> str:
    """Add what ranks said whose last words mpirun did not read any more."""
    if not evidence.ranks.ends or "called MPI_Abort" in evidence.stderr:
        return evidence.stderr
    said = [line for end in evidence.ranks.failures for line in end.stderr]
    return "\n".join([evidence.stderr, *said])


def _counts(lost: Lost, evidence: Evidence, daemon: str) -> bool:
    """Tell whether a loss belongs to the job: one after mpirun's end may have come of something else.

    A rank that failed by itself explains mpirun's end; SIGKILL and SIGTERM come of a lost worker, too.
    And where every rank has reported a good end, a worker may go. `daemon` is the host whose daemon
    mpirun says that it lost: that one counts whatever ranks elsewhere made of it.
    """
    if not lost.late:
        return True
    if not evidence.code and evidence.ranks.all_well:
        return False
    if lost.host == daemon:
        return True
    killed = (signals.SIGKILL, signals.SIGTERM)
    return all(end.signal in killed and not end.why for end in evidence.ranks.failures)


def _with_memory(failure: Failure, evidence: Evidence) -> Failure:
    """Name the memory limit where it has killed on that host meanwhile, and no report tells whom."""
    seen = evidence.testimony.get(failure.host)
    if failure.rank in {end.rank for end in evidence.ranks.ends}:
        return failure
    if failure.signal != signals.SIGKILL or seen is None or not seen.oom_kills:
        return failure
    who = f"rank {failure.rank} on {failure.host}" if failure.rank is not None else failure.host
    return replace(failure, message=f"{who} was OOM-killed{_limit(seen)}")


def _limit(seen: Testimony) -> str:
    return f" (limit {causes.size(seen.limit_bytes)})" if seen.limit_bytes else ""


def _halted(base: Outcome, halt: Halt, warned_s: float | None) -> Outcome:
    """Tell of an end that the agent was ordered to bring about."""
    name = causes.name(halt.signal)
    after = f"; its ranks had {warned_s:.1f} s to save their work" if warned_s is not None else ""
    match halt.cause:
        case Cause.DEADLINE:
            message = f"the deadline passed while the job ran{after}"
            return replace(base, code=int(ExitCode.DEADLINE), fault=Fault.DEADLINE, message=message)
        case Cause.PREEMPTED:
            message = f"{halt.host} was told to stop ({name}) while the job ran{after}"
            first = Failure(message=f"{halt.host} was told to stop ({name})", host=halt.host)
            base = replace(base, failures=(first, *base.failures))
            return _infrastructure(base, ExitCode.WORKER_LOST, message)
        case Cause.STALLED:
            failures = (Failure(message=halt.detail), *base.failures)
            code = int(ExitCode.STALLED)
            return replace(base, code=code, message=halt.detail, failures=failures, stalled=True)
        case Cause.CUT_OFF:
            base = replace(base, failures=(Failure(message=halt.detail), *base.failures))
            return _infrastructure(base, ExitCode.LAUNCH_FAILED, halt.detail)
        case Cause.PAUSED:
            message = f"the job was paused{after}"
        case _:
            message = f"stopped by {name} while the job ran{after}"
    return replace(base, code=128 + halt.signal, fault=Fault.SIGNAL, message=message)


def _testimony(evidence: Evidence) -> Iterator[str]:
    yield f"mpirun ended with {evidence.code}"
    yield f"{evidence.leased} of {counted(evidence.workers, 'worker')} testify by lease"
    silent = evidence.workers - evidence.leased
    if silent:
        yield f"{silent} without a lease: no evidence of their own"
    seen = evidence.ranks
    if seen.np:
        yield f"{len(seen.started)} of {counted(seen.np, 'rank')} started, {len(seen.ends)} ended"
    if evidence.lingered:
        yield "mpirun did not end after its last rank, and was stopped"
    for one in evidence.left:
        yield f"{one.host} was lost, and the elastic job went on: {one.why}"
    for host, said in evidence.testimony.items():
        yield from _of_worker(host, said)


def _of_worker(host: str, said: Testimony) -> Iterator[str]:
    """Tell what is out of the ordinary on a worker."""
    if said.oom_kills:
        yield f"{host}: its memory limit has killed {counted(said.oom_kills, 'process', 'processes')}{_limit(said)}"
    if said.sshd_restarts:
        yield f"{host}: its sshd died {counted(said.sshd_restarts, 'time')}"
    if said.forks_refused:
        yield f"{host}: its limit of processes and threads refused {said.forks_refused}"


def _merged(told: Sequence[Failure], seen: Ranks) -> list[Failure]:
    """Put an abort first, which only mpirun tells; then what the ranks report, then the rest."""
    aborts = [_completed(one, seen) for one in told if _is_abort(one)]
    known = {one.rank for one in aborts}
    reported = [causes.failure(end) for end in seen.failures if end.rank not in known]
    known.update(one.rank for one in reported)
    return [
        *aborts,
        *_unheard(told, seen),
        *reported,
        *(
            one
            for one in told
            if not _is_abort(one) and (one.rank is None or one.rank not in known)
            if one not in _unheard(told, seen)
        ),
    ]


def _unheard(told: Sequence[Failure], seen: Ranks) -> list[Failure]:
    """Name ranks that mpirun saw fail and whose report never came, where all others were only killed.

    Who was killed by KILL or TERM was most likely killed for them. A worker that is silent has perhaps
    not even told that they started.
    """
    killed = (signals.SIGKILL, signals.SIGTERM)
    if not seen.failures or any(end.signal not in killed or end.oom for end in seen.failures):
        return []
    heard = {None, *(end.rank for end in seen.ends)}
    return [one for one in told if one.rank not in heard and one.code and not _is_abort(one)]


def _completed(abort: Failure, seen: Ranks) -> Failure:
    """Add what the rank's reports tell: its host where mpirun does not name it, and its last words."""
    if abort.rank is None:
        return abort
    said = next((end.stderr for end in seen.ends if end.rank == abort.rank), ())
    host = seen.started.get(abort.rank, "")
    if abort.host or not host:
        return replace(abort, stderr=said)
    who = f"rank {abort.rank}"
    message = abort.message.replace(who, f"{who} on {host}", 1)
    return replace(abort, host=host, message=message, stderr=said)


def _is_abort(failure: Failure) -> bool:
    return "called MPI_Abort" in failure.message


def _by_evidence(base: Outcome, evidence: Evidence, dialect: Dialect) -> Outcome:
    first = base.failures[0].message if base.failures else ""
    failed = evidence.ranks.failures
    if evidence.lost and evidence.code == 0 and not evidence.taken_down:
        message = f"mpirun says success, but {first}"
        return _infrastructure(base, ExitCode.FALSE_SUCCESS, message)
    if evidence.lost:
        return _infrastructure(base, ExitCode.WORKER_LOST, first)
    if evidence.start_s is not None:
        late = _infrastructure(base, ExitCode.LAUNCH_FAILED, _too_late(evidence))
        return replace(late, permanent=True)  # it had time enough
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
        ran = bool(evidence.ranks.started)
        return replace(_infrastructure(base, ExitCode.LAUNCH_FAILED, message), ran=ran)
    code = _code(base, evidence, dialect)
    fault = causes.fault(failed[0]) if failed and code == failed[0].status else Fault.USER
    return replace(base, code=code, fault=fault, message=first or _plain(code))


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
        return replace(base, code=failed[0].status, fault=causes.fault(failed[0]), message=first)
    if evidence.missing:
        where = ", ".join(evidence.missing)
        message = f"mpirun says success, but no rank ran on {where}"
        return _infrastructure(base, ExitCode.FALSE_SUCCESS, message)
    if evidence.unvisited:
        where = ", ".join(evidence.unvisited)
        message = f"mpirun says success, but it never logged in on {where}"
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
    unheard = _unheard(base.failures, evidence.ranks)
    if unheard:
        return (unheard[0].code or 0) & 0xFF or translated
    failed = evidence.ranks.failures
    return failed[0].status if failed else translated


def _infrastructure(base: Outcome, code: ExitCode, message: str) -> Outcome:
    return replace(base, code=int(code), fault=Fault.INFRASTRUCTURE, message=message)


def _plain(code: int) -> str:
    if code > 128 and code - 128 in {int(one) for one in signals.Signals}:
        killed = f"the job was killed by {causes.name(code - 128)}"
        return f"{killed}{_GUESS}" if code == 128 + signals.SIGKILL else killed
    return f"the job ended with {code}"


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
    if isinstance(fault, OSError) and fault.errno in (errno.ENOSPC, errno.EDQUOT):
        place = f": {fault.filename}" if fault.filename else ""
        message = f"{fault.strerror}{place}; make room there, or choose another --runtime-dir"
        return Outcome(code=int(ExitCode.CONFIG), fault=Fault.CONFIGURATION, message=message)
    if limits.is_shortage(fault):
        message = f"this container can start no more processes or threads; {limits.raised()}"
        code = int(ExitCode.LAUNCH_FAILED)
        return Outcome(code=code, fault=Fault.INFRASTRUCTURE, message=message)
    message = f"{type(fault).__name__}: {fault}"
    return Outcome(code=int(ExitCode.INTERNAL), fault=Fault.INTERNAL, message=message)


def of_stop(number: int, stage: str) -> Outcome:
    """Tell of a stop before the job ran."""
    return Outcome(
        code=128 + number,
        fault=Fault.SIGNAL,
        message=f"stopped by {causes.name(number)} while {stage}",
    )
