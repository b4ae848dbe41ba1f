"""What is known of each host, and a clock → wait, go, or give up with a reason."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from mpiboot.errors import ConfigError, ExitCode
from mpiboot.model.counting import counted
from mpiboot.model.facts import Facts
from mpiboot.model.hosts import Host
from mpiboot.model.record import dataclass


class Reach(str, enum.Enum):
    """How far a host has been reached; the value is what people read."""

    UNTRIED = "not tried yet"
    NO_NAME = "name does not resolve"
    REFUSED = "connection refused"
    NO_ROUTE = "no answer"
    KEY_REFUSED = "key refused"
    WRONG_HOST_KEY = "wrong host key"
    LOGIN_BROKEN = "login broken"
    AGENT_FAILED = "rsh agent failed"
    PLAIN = "ready (plain sshd)"
    BY_AGENT = "ready (rsh agent)"
    READY = "ready"

    @property
    def ready(self) -> bool:
        """Tell whether mpirun can start a daemon there."""
        return self in _READY

    @property
    def permanent(self) -> bool:
        """Tell whether waiting will not heal it."""
        return self in (Reach.KEY_REFUSED, Reach.WRONG_HOST_KEY, Reach.LOGIN_BROKEN)

    __hash__ = str.__hash__  # equal to its text, so hashed like it; an enum's own takes longer


_READY = frozenset((Reach.READY, Reach.PLAIN, Reach.BY_AGENT))  # it is asked for all hosts at once


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The last thing seen of one host.

    Attributes:
        host: the host as it was named.
        reach: how far it was reached.
        detail: the error's own words, or the address.
        strikes: how often in a row the same permanent fault was seen.
        address: the address that answered; empty before.
        port: the port that answered.
        facts: what its agent says of itself; None for a plain sshd.
        here: whether it is this very container.
        since_s: seconds of waiting after which it was first seen so.
        ready_after_s: seconds of waiting until it was ready; None before.
        leased: whether its lease is held; those beyond the limit are proven and then left alone.
    """

    host: Host
    reach: Reach = Reach.UNTRIED
    detail: str = ""
    strikes: int = 0
    address: str = ""
    port: int = 22
    facts: Facts | None = None
    here: bool = False
    since_s: float = 0.0
    ready_after_s: float | None = None
    leased: bool = True


class Verb(str, enum.Enum):
    """What the gathering should do now."""

    WAIT = "wait"
    GO = "go"
    FAIL = "fail"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What to do, who takes part when it is GO, and why when it is FAIL, or GO without some."""

    verb: Verb
    chosen: tuple[Seen, ...] = ()
    code: ExitCode = ExitCode.OK
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms of the wait.

    Attributes:
        expected: how many hosts must be ready; None: not known yet (a name that has not settled).
        deadline_s: seconds after which the wait fails.
        strikes: permanent faults in a row that end it early; 0 never.
        answer: what a name that is enumerated answers now; empty for a list.
        quorum: how many are enough when not all come; 0: all are needed.
        patience_s: with a quorum that is ready, how long a further worker may take before the
            start goes on without; None: to the deadline.
    """

    expected: int | None
    deadline_s: float
    strikes: int
    answer: str = ""
    quorum: int = 0
    patience_s: float | None = None

    @property
    def enough(self) -> int | None:
        """How many workers suffice at last; None: not known yet."""
        return self.quorum or self.expected


def check_quorum(quorum: int, named: int | None) -> None:
    """Refuse a quorum that the hosts of the job can never reach.

    Args:
        quorum: the setting; 0: all are needed.
        named: how many hosts are named; None: not known yet.

    Raises:
        ConfigError: it is more than all.
    """
    if named is not None and quorum > named:
        raise ConfigError(
            f"--min-workers is {quorum}, but {counted(named, 'worker is', 'workers are')} named",
            hint="lower it, or name more hosts",
        )


def decide(seen: Sequence[Seen], terms: Terms, waited_s: float) -> Decision:
    """Decide whether to go on waiting, to launch, or to give up.

    With a quorum the wait for all others ends at the deadline, or when nobody more came for as long
    as `patience_s`, or when only those are missing whom waiting will not heal.
    When more hosts are ready than expected (a name that answers with left-over addresses), the
    first ones in order are taken.
    """
    ready = [one for one in seen if one.reach.ready]
    wanted = max(terms.expected or 0, terms.quorum)  # an uncounted name may settle on too few
    if terms.expected is not None and len(ready) >= wanted > 0:
        return Decision(verb=Verb.GO, chosen=tuple(ready[:wanted]))
    out = _struck_out(seen, terms)
    if _goes_without(seen, terms, waited_s):
        reason = (
            f"starting with {len(ready)} of {counted(terms.expected, 'worker')} (--min-workers)"
        )
        who = missing(seen) or terms.answer
        return Decision(verb=Verb.GO, chosen=tuple(ready), reason=f"{reason}; missing: {who}")
    if out and not _enough_without(seen, out, terms.enough):
        first = out[0]
        more = f" and {len(out) - 1} more" if len(out) > 1 else ""
        reason = f"{first.host.name}{more}: {first.reach.value} ({first.detail})"
        hint = _REMEDIES[first.reach]
        return Decision(verb=Verb.FAIL, code=ExitCode.NOT_READY, reason=f"{reason}; {hint}")
    if waited_s >= terms.deadline_s:
        reason = f"{len(ready)} of {counted(terms.expected, 'worker')} ready after {waited_s:.0f} s"
        reason += (
            f"; {counted(terms.quorum, 'is', 'are')} needed (--min-workers)" if terms.quorum else ""
        )
        reason += f"; {terms.answer}" if terms.answer else ""
        return Decision(verb=Verb.FAIL, code=ExitCode.NOT_READY, reason=reason)
    return Decision(verb=Verb.WAIT)


def look_again_s(seen: Sequence[Seen], terms: Terms) -> float:
    """Tell after how many seconds of waiting the decision may change though nothing happens."""
    ready = [one for one in seen if one.reach.ready]
    if terms.patience_s is None or not 0 < terms.quorum <= len(ready):
        return terms.deadline_s
    return min(terms.deadline_s, _last_came_s(ready) + terms.patience_s)


def _goes_without(seen: Sequence[Seen], terms: Terms, waited_s: float) -> bool:
    """Tell whether a quorum starts now: nobody more can come, or nobody has for long enough."""
    ready = [one for one in seen if one.reach.ready]
    if not 0 < terms.quorum <= len(ready):
        return False
    hopeless = len(ready) + len(_struck_out(seen, terms)) == len(seen) == terms.expected
    return hopeless or waited_s >= look_again_s(seen, terms)


def _last_came_s(ready: Sequence[Seen]) -> float:
    return max(one.ready_after_s or 0.0 for one in ready)


def _struck_out(seen: Sequence[Seen], terms: Terms) -> list[Seen]:
    if not terms.strikes:
        return []
    return [one for one in seen if one.reach.permanent and one.strikes >= terms.strikes]


def _count(terms: Terms) -> str:
    return "?" if terms.expected is None else str(terms.expected)


_REMEDIES = {
    Reach.KEY_REFUSED: "give the workers and the launcher the same secret or key directory; where a"
    " worker has --ssh-from, the launcher's address has to be in it (the worker's log names it)",
    Reach.WRONG_HOST_KEY: "the worker does not hold this job's key material: give both sides the"
    " same secret, or name a plain sshd's host keys with --known-hosts",
    Reach.LOGIN_BROKEN: "the login itself works, but no command can be run: check the user's shell",
}


def _enough_without(seen: Sequence[Seen], out: Sequence[Seen], enough: int | None) -> bool:
    """Tell whether the wait can still succeed with the hosts that did not strike out."""
    return enough is not None and len(seen) - len(out) >= enough


def progress(seen: Sequence[Seen], terms: Terms, waited_s: float) -> str:
    """Say in one line how far it is and who is missing, why."""
    ready = sum(one.reach.ready for one in seen)
    text = f"ready {ready}/{_count(terms)} after {waited_s:.0f} s"
    text += f"; {terms.answer}" if terms.answer else ""
    who = missing(seen)
    return f"{text}; waiting for {who}" if who else text


def missing(seen: Sequence[Seen]) -> str:
    """Name those who are not ready, and why: the first few of them; empty when all are."""
    late = [one for one in seen if not one.reach.ready]
    shown = ", ".join(f"{one.host.name}: {_short(one)}" for one in late[:4])
    more = f", and {len(late) - 4} more" if len(late) > 4 else ""
    return f"{shown}{more}"


def table(seen: Sequence[Seen], waited_s: float) -> str:
    """Lay out host → last state → seconds, those that are missing last and with their error."""
    ordered = sorted(seen, key=lambda one: not one.reach.ready)
    width = max((len(one.host.name) for one in ordered), default=4)
    lines = []
    for one in ordered:
        after = one.ready_after_s if one.ready_after_s is not None else waited_s
        lines.append(f"  {one.host.name:<{width}}  {after:6.1f} s  {_short(one)}")
    return "\n".join(lines)


def _short(one: Seen) -> str:
    detail = f" ({one.detail})" if one.detail and not one.reach.ready else ""
    return f"{one.reach.value}{detail}"
