"""Leases, messages and a clock → stay or leave (worker)."""

from __future__ import annotations

import math

from mpiboot.errors import ExitCode
from mpiboot.model.record import dataclass


@dataclass(frozen=True, kw_only=True)
class Over:
    """The launcher's word that an attempt is over.

    Attributes:
        code: exit code of the job.
        final: whether no further attempt will come.
        ran: whether ranks were started.
        stay: whether to wait for a next launcher without end.
    """

    code: int
    final: bool
    ran: bool
    stay: bool = False


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the worker has seen, with times of a monotonic clock in seconds.

    Attributes:
        ready_at: when it became ready.
        leases: leases that are open.
        silent_since: when the last lease closed; None when there was none yet.
        sessions: SSH sessions that are open without a lease, and MPI daemons left by such ones.
        quiet_since: when the last of these ended; None when there was none yet.
        over: the launcher's last word, None while it has not said that it is over.
        unheld_since: since when a launcher counts on this worker without a lease; None: none does.
            From then on `sessions` are its own, and `quiet_since` is when the last of these ended.
    """

    ready_at: float
    leases: int = 0
    silent_since: float | None = None
    sessions: int = 0
    quiet_since: float | None = None
    over: Over | None = None
    unheld_since: float | None = None


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How patient the worker is, in seconds; infinite: for ever."""

    first_contact_s: float
    retry_grace_s: float


@dataclass(frozen=True, kw_only=True)
class Stay:
    """Stay; look again at that time, or when something happens."""

    until: float | None


@dataclass(frozen=True, kw_only=True)
class Exit:
    """Leave with that code and reason."""

    code: ExitCode
    reason: str


def decide(seen: Seen, terms: Terms, now: float) -> Stay | Exit:
    """Decide whether the worker is still needed.

    A failed attempt that will be retried is no reason to leave: most platforms never make a
    finished worker anew. The retry grace bounds that hope.
    """
    if seen.over is not None and seen.over.final:
        return _final(seen.over)
    if seen.leases or seen.sessions:
        return Stay(until=None)
    if seen.over is not None and seen.over.stay:
        return Stay(until=None)
    if seen.unheld_since is not None:
        return _unheld(seen, seen.unheld_since, terms, now)
    if seen.silent_since is not None:
        after = "an attempt failed" if seen.over is not None else "the launcher was lost"
        reason = f"{after} and no launcher came back within {terms.retry_grace_s:g} s"
        return _at(
            max(seen.silent_since, seen.quiet_since or 0) + terms.retry_grace_s,
            now,
            Exit(code=ExitCode.LAUNCHER_LOST, reason=reason),
        )
    if seen.quiet_since is not None:
        # Plain mpirun says nothing at its end; its daemon is gone, so its job is over.
        reason = f"the last SSH session ended {terms.retry_grace_s:g} s ago"
        return _at(
            seen.quiet_since + terms.retry_grace_s, now, Exit(code=ExitCode.OK, reason=reason)
        )
    reason = f"no launcher came within {terms.first_contact_s:g} s"
    return _at(
        seen.ready_at + terms.first_contact_s, now, Exit(code=ExitCode.NEVER_USED, reason=reason)
    )


def _unheld(seen: Seen, since: float, terms: Terms, now: float) -> Stay | Exit:
    """Wait for the job, which may be long in coming; after it, for the launcher's word."""
    if seen.quiet_since is None:
        reason = f"a launcher came, but no job within {terms.first_contact_s:g} s"
        then = Exit(code=ExitCode.NEVER_USED, reason=reason)
        return _at(since + terms.first_contact_s, now, then)
    reason = f"the job's sessions ended, and no launcher came within {terms.retry_grace_s:g} s"
    then = Exit(code=ExitCode.LAUNCHER_LOST, reason=reason)
    return _at(seen.quiet_since + terms.retry_grace_s, now, then)


def _final(over: Over) -> Exit:
    if over.ran:
        return Exit(code=ExitCode.OK, reason=f"the job is over (code {over.code})")
    reason = f"the job never started (code {over.code})"
    return Exit(code=ExitCode.NEVER_USED, reason=reason)


def _at(time: float, now: float, then: Exit) -> Stay | Exit:
    if now >= time:
        return then
    return Stay(until=time if time < math.inf else None)
