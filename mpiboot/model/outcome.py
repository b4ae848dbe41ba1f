"""How it stands and how it ended: stages, failures, outcome."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from mpiboot.model.record import dataclass


class Stage(str, enum.Enum):
    """What an agent is doing now; also the label of its phase metrics."""

    STARTING = "starting"
    WAITING = "waiting"
    LAUNCHING = "launching"
    RUNNING = "running"
    READY = "ready"
    IDLE = "idle"
    PAUSED = "paused"
    RESUMING = "resuming"
    ENDING = "ending"
    ENDED = "ended"


class Phase(str, enum.Enum):
    """The coarse state that people and controllers know from Kubernetes."""

    PENDING = "Pending"
    RUNNING = "Running"
    PAUSED = "Paused"
    RESUMING = "Resuming"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class Fault(str, enum.Enum):
    """Who should act on a failure."""

    NONE = "none"
    USER = "user"
    CONFIGURATION = "configuration"
    INFRASTRUCTURE = "infrastructure"
    DEADLINE = "deadline"
    SIGNAL = "signal"
    INTERNAL = "internal"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One thing that went wrong, first cause first.

    Attributes:
        message: one sentence.
        host: where, empty when not known.
        rank: which rank; None when not known.
        signal: signal that killed it; None when none did.
        code: its exit code; None when not known.
        stderr: the last lines that it wrote to stderr, as far as they are known.
    """

    message: str
    host: str = ""
    rank: int | None = None
    signal: int | None = None
    code: int | None = None
    stderr: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the fields that are known."""
        fields = {
            "message": self.message,
            "host": self.host or None,
            "rank": self.rank,
            "signal": self.signal,
            "code": self.code,
            "stderr": list(self.stderr) or None,
        }
        return {key: value for key, value in fields.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended.

    Attributes:
        code: exit code of the agent (see errors.ExitCode for its own ones).
        fault: who should act.
        message: one sentence.
        failures: what went wrong, first cause first.
        ran: whether ranks were started.
        evidence: what the verdict rests on beside mpirun's own status.
        permanent: whether another try at once would end the same way.
        lost: hosts whose loss belongs to the job.
        stalled: whether it was ended because nothing moved; a program may end with that code, too.
    """

    code: int
    fault: Fault
    message: str
    failures: tuple[Failure, ...] = ()
    ran: bool = False
    evidence: tuple[str, ...] = ()
    permanent: bool = False
    lost: tuple[str, ...] = ()
    stalled: bool = False

    def to_json(self) -> dict[str, object]:
        """Return a JSON-ready mapping, root cause first."""
        data: dict[str, object] = {
            "code": self.code,
            "fault": self.fault.value,
            "message": self.message,
            "ran": self.ran,
        }
        if self.failures:
            data["failures"] = [failure.to_json() for failure in self.failures]
        if self.evidence:
            data["evidence"] = list(self.evidence)
        return data


def phase_of(stage: Stage, outcome: Outcome | None, *, silent: bool = False) -> Phase:
    """Tell the phase: a worker runs from the moment it is ready, a launcher with its job.

    Args:
        stage: what the agent does now.
        outcome: how it ended; None before.
        silent: nobody on whom the job runs answers any more.
    """
    if outcome is not None:
        return Phase.SUCCEEDED if outcome.code == 0 else Phase.FAILED
    if stage is Stage.PAUSED:
        return Phase.PAUSED
    if stage is Stage.RESUMING:
        return Phase.RESUMING
    if stage in (Stage.READY, Stage.RUNNING, Stage.ENDING):
        return Phase.UNKNOWN if silent else Phase.RUNNING
    return Phase.PENDING


def first_rank(failures: Sequence[Failure]) -> Failure | None:
    """Return the first failure that is a rank's."""
    return next((one for one in failures if one.rank is not None), None)
