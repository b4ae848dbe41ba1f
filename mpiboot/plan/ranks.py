"""What the ranks' wrappers report: who has started where, who has ended how, and what that means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from mpiboot.model import fields
from mpiboot.model.fields import sent_s, whole
from mpiboot.model.record import dataclass, field, replace
from mpiboot.plan import lastwords
from mpiboot.plan.clocks import Clock

_MOST_BYTES = 1 << 60
_MOST_RANKS = 1 << 17  # where a launcher of the user's own says how many there are
_MOST_TOLD = 64  # ends of one host whose last words are kept: each may be 4 KiB
_WHYS = ("not found", "not executable", "no directory", "other mpi")


@dataclass(frozen=True, kw_only=True)
class End:
    """How one rank ended.

    Attributes:
        rank: which.
        host: where, by the user's name for it.
        code: its exit code; None when a signal killed it.
        signal: that signal.
        why: what went wrong before or instead of the program; empty when it ran.
        detail: more about that.
        at: when, seconds since the epoch, by the launcher's clock.
        stderr: the last lines that it wrote there.
        oom: whether the kernel killed it for want of memory.
        limit: bytes that its container may use; None: not known, or as many as there are.
        peak: bytes that its container has used at most; None: not known.
    """

    rank: int
    host: str
    code: int | None = None
    signal: int | None = None
    why: str = ""
    detail: str = ""
    at: float = 0.0
    stderr: tuple[str, ...] = ()
    oom: bool = False
    limit: int | None = None
    peak: int | None = None

    @property
    def status(self) -> int:
        """The status as a shell tells it."""
        return 128 + self.signal if self.signal is not None else self.code or 0

    @property
    def failed(self) -> bool:
        """Tell whether it is a failure."""
        return self.status != 0


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """All reports of a job so far.

    Attributes:
        np: how many ranks were to start; 0: nobody reports, or not known.
        started: host of each rank that has started.
        ends: of those that have ended, first one first.
    """

    np: int = 0
    started: Mapping[int, str] = field(default_factory=dict)
    ends: Sequence[End] = ()

    @property
    def failures(self) -> list[End]:
        """Those that failed, first one first."""
        return [end for end in self.ends if end.failed]

    @property
    def all_well(self) -> bool:
        """Tell whether every rank is known to have ended well."""
        return 0 < self.np == len(self.ends) and not self.failures


def first_causes(ranks: Ranks, survived: int) -> Ranks:
    """Put ranks that ended because of another one behind it: they may be the first to end.

    Args:
        ranks: the reports.
        survived: the code of those ranks.
    """
    ends = sorted(ranks.ends, key=lambda end: end.code == survived)
    return replace(ranks, ends=tuple(ends))


def that_tell(ranks: Ranks, code: int) -> Ranks:
    """Keep the ends that a launcher of the user's own has taken for its code.

    A script may have gone past a launch that failed, and a flag may allow ranks to fail.

    Args:
        ranks: the reports.
        code: of the launcher, as its ranks would have ended.
    """
    return replace(ranks, ends=tuple(end for end in ranks.ends if end.status == code))


class Book:
    """Keeps the reports; what another machine says is checked and bounded.

    A rank belongs to the host that was first to report it; the others do not speak for it. A host that
    has more ranks than slots loses those that somebody else reports, too.

    Args:
        np: ranks that were to start; 0: nobody will report, or not known.
        own: whether launchers of the user's own start them, so that there may be several launches,
            one after the other, of as many ranks as the user likes.
        slots: of each host, by the user's names; of one that is not named nothing is known.

    Attributes:
        disbelieved: reports of each host about ranks of another one.
    """

    def __init__(
        self, np: int, *, own: bool = False, slots: Mapping[str, int] | None = None
    ) -> None:
        self.np = np
        self.disbelieved: Counter[str] = Counter()
        self._own = own
        self._slots = dict(slots or {})
        self._started: dict[int, str] = {}
        self._ends: dict[int, End] = {}
        self._many: Counter[str] = Counter()  # ranks of each host
        self._told: Counter[str] = Counter()
        self.changed_at = 0.0

    def hear(
        self, host: str, body: Mapping[str, object], now: float, wall: float, clock: Clock
    ) -> bool:
        """Take a report from a host; tell whether it was one.

        Args:
            host: the user's name for the machine that it came from.
            body: of the message.
            now: seconds on the clock that `advise` is asked with.
            wall: seconds since the epoch.
            clock: of that machine.
        """
        rank = whole(body, "rank", (_MOST_RANKS if self._own else self.np) - 1)
        if rank is None:
            return False
        event = body.get("event")
        if event not in ("started", "ended"):
            return False
        if event == "started" and self._own and self._is_over(rank, host):
            self._begin_anew()
        if not self._belongs(rank, host):
            self.disbelieved[host] += 1
            return False
        if event == "ended":
            if rank in self._ends:
                return False
            self._ends[rank] = self._kept(_end(rank, host, body, wall, clock))
        self.changed_at = now
        return True

    def _is_over(self, rank: int, host: str) -> bool:
        """Tell whether a rank that starts is one of another launch."""
        return rank in self._ends or self._started.get(rank) == host

    def _begin_anew(self) -> None:
        self._started, self._ends = {}, {}
        self._many.clear()
        self._told.clear()

    def _belongs(self, rank: int, host: str) -> bool:
        """Give a rank to the host that reports it, or tell that it is another one's."""
        before = self._started.get(rank)
        if before == host:
            return True
        if before is not None:
            if self._within(host, 1) and not self._within(before, 0):
                self._many[before] -= 1
                self.disbelieved[before] += 1
                self._ends.pop(rank, None)
            else:
                return False
        self._started[rank] = host
        self._many[host] += 1
        return True

    def _within(self, host: str, more: int) -> bool:
        """Tell whether a host has no more ranks than slots, with so many on top."""
        return self._many[host] + more <= self._slots.get(host, _MOST_RANKS)

    def _kept(self, end: End) -> End:
        """Keep the last words of the first ends of a host."""
        if end.stderr:
            self._told[end.host] += 1
        return end if self._told[end.host] <= _MOST_TOLD else replace(end, stderr=())

    @property
    def any_started(self) -> bool:
        """Whether at least one rank has started."""
        return bool(self._started)

    @property
    def all_started(self) -> bool:
        """Tell whether every rank has started."""
        return 0 < self.np <= len(self._started)

    @property
    def all_ended(self) -> bool:
        """Tell whether every rank has ended."""
        return 0 < self.np <= len(self._ends)

    def ranks(self) -> Ranks:
        """Return what is known."""
        ends = sorted(self._ends.values(), key=lambda end: end.at)
        return Ranks(np=self.np, started=dict(self._started), ends=tuple(ends))


def _end(rank: int, host: str, body: Mapping[str, object], wall: float, clock: Clock) -> End:
    sent = sent_s(body)
    why = body.get("why")
    signal = whole(body, "signal", 64)
    return End(
        rank=rank,
        host=host,
        code=None if signal is not None else whole(body, "code", 255) or 0,
        signal=signal,
        why=why if isinstance(why, str) and why in _WHYS else "",
        detail=fields.text(body, "text", 300),
        at=wall if sent is None else clock.ours(sent, wall),
        stderr=lastwords.lines(body.get("stderr")),
        oom=body.get("oom") is True,
        limit=whole(body, "limit", _MOST_BYTES),
        peak=whole(body, "peak", _MOST_BYTES),
    )


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How patient the launcher is.

    Attributes:
        start_s: until every rank has started; 0: for ever.
        hindered_s: until the first has, where mpirun's container refused it processes or threads:
            Open MPI 4 waits for ever then.
        linger_s: how long mpirun may stay after its last rank has ended and said nothing more.
    """

    start_s: float
    linger_s: float
    hindered_s: float = 10.0


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What to do about a running mpirun.

    Attributes:
        until: when to look again; None: at the next report.
        too_late: its ranks have not all started in time.
        patience_s: which time that was.
        lingers: all its ranks have ended, and it has not.
    """

    until: float | None = None
    too_late: bool = False
    patience_s: float = 0.0
    lingers: bool = False


def advise(
    book: Book,
    terms: Terms,
    *,
    begun: float,
    quiet_since: float,
    now: float,
    hindered: Callable[[], bool] = lambda: False,
) -> Advice:
    """Decide whether mpirun is still to be waited for.

    Args:
        book: the reports.
        terms: how patient to be.
        begun: when mpirun was started.
        quiet_since: when it last wrote anything.
        now: the time, on the same clock.
        hindered: tells whether this container has refused mpirun processes or threads.
    """
    if book.all_ended:
        until = max(book.changed_at, quiet_since) + terms.linger_s
        return Advice(lingers=True) if now >= until else Advice(until=until)
    if book.all_started or not book.np or not terms.start_s:
        return Advice()
    patience_s = terms.start_s
    if not book.any_started and terms.hindered_s < terms.start_s:
        soon = now < begun + terms.hindered_s
        patience_s = terms.hindered_s if soon or hindered() else terms.start_s
    until = begun + patience_s
    late = Advice(too_late=True, patience_s=patience_s)
    return late if now >= until else Advice(until=until)


def expected(slots: Mapping[str, int], np: int, map_by: str) -> list[str]:
    """Name the hosts on which a rank must run: by slot they fill up in order, else all of them."""
    if map_by not in ("", "slot"):
        return [name for number, name in enumerate(slots) if number < np]
    names, left = [], np
    for name, count in slots.items():
        if left <= 0:
            break
        names.append(name)
        left -= count
    return names
