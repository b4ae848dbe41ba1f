"""What was seen of an attempt: mpirun's status is one witness among several."""

from __future__ import annotations

import enum
import signal as signals
from collections.abc import Mapping, Sequence

from mpiboot.model.record import dataclass, field
from mpiboot.plan.loss import Kind
from mpiboot.plan.ranks import Ranks


@dataclass(frozen=True, kw_only=True)
class Lost:
    """A worker whose lease was lost while the job ran.

    Attributes:
        host: the user's name for it.
        why: in words.
        late: whether that was only noticed after mpirun's end.
        kind: what became of it; None: that is not known, or it is no lease that was lost.
    """

    host: str
    why: str
    late: bool = False
    kind: Kind | None = None


class Cause(str, enum.Enum):
    """Why the agent ended an attempt that still ran."""

    SIGNAL = "signal"
    DEADLINE = "deadline"
    PREEMPTED = "preempted"
    PAUSED = "paused"
    STALLED = "stalled"
    CUT_OFF = "cut off"


@dataclass(frozen=True, kw_only=True)
class Halt:
    """An order to end the attempt.

    Attributes:
        cause: who or what wants it.
        signal: what was received, here or by the worker.
        host: the worker that is being stopped; empty for this container.
        detail: more about it, in words.
    """

    cause: Cause
    signal: int = int(signals.SIGTERM)
    host: str = ""
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Testimony:
    """What a worker says of the attempt when it is over.

    Attributes:
        oom_kills: processes that its cgroup's memory limit has killed meanwhile; None: not known.
        peak_bytes: most memory that the container has used; 0: not known.
        limit_bytes: of its memory; 0: none, or not known.
        sessions: SSH sessions for commands that were opened for the attempt.
        sshd_restarts: how often its sshd died meanwhile.
        forks_refused: how often its limit of processes and threads has refused one more meanwhile.
        pids_limit: that limit; 0: none, or not known.
    """

    oom_kills: int | None = None
    peak_bytes: int = 0
    limit_bytes: int = 0
    sessions: int = 0
    sshd_restarts: int = 0
    forks_refused: int = 0
    pids_limit: int = 0


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was seen of a job.

    Attributes:
        code: mpirun's exit code, 128 + n for a signal.
        halt: why the agent ended the attempt before mpirun did; None: it did not.
        stderr: the end of what mpirun itself wrote to stderr, and the ranks where no wrapper is.
        lost: workers that were lost.
        leased: how many workers had a lease; the others are plain sshd and cannot testify.
        workers: how many workers took part.
        program_exists: whether the job's program, as a path, exists in the launcher's container.
        ranks: what the ranks' wrappers reported.
        expected: hosts on which at least one rank must have run.
        start_s: after how many seconds mpirun was stopped because ranks had not started; else None.
        unreachable: workers that could not connect to this container then, with the reason.
        lingered: whether mpirun was stopped because it did not end after its last rank.
        taken_down: whether mpirun was stopped because a worker was lost; its own code says nothing.
        left: workers that an elastic job lost, and went on.
        own: whether the job's command calls mpirun itself, so that where ranks run is its business.
        testimony: of the workers that answered at the end, by host.
        here: what was seen of the launcher's own container.
        shm_bytes: size of /dev/shm by host, where it is known.
        warned_s: time that the ranks were given to save their work, when they were warned.
    """

    code: int
    halt: Halt | None
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
    taken_down: bool = False
    left: Sequence[Lost] = ()
    own: bool = False
    testimony: Mapping[str, Testimony] = field(default_factory=dict)
    here: Testimony = field(default_factory=Testimony)
    shm_bytes: Mapping[str, int] = field(default_factory=dict)
    warned_s: float | None = None

    @property
    def missing(self) -> list[str]:
        """Hosts on which a rank should have started, and none did."""
        if not self.ranks.np:
            return []
        seen = set(self.ranks.started.values())
        return [host for host in self.expected if host not in seen]

    @property
    def unvisited(self) -> list[str]:
        """Hosts that mpirun needed and never logged in on; only asked where no rank reports."""
        if self.ranks.np or self.own:
            return []
        said = {host: self.testimony[host] for host in self.expected if host in self.testimony}
        return [host for host, one in said.items() if not one.sessions]
