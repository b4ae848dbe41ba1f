"""How a job stands, as users of MPIJobs know it: conditions, tasks, counts of them."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from mpiboot.model.outcome import Phase
from mpiboot.model.record import dataclass

# Phases of a worker as one task of the job; the job's own ones, Paused and Resuming, are no worker's.
WORKER_PHASES = (Phase.PENDING, Phase.RUNNING, Phase.SUCCEEDED, Phase.FAILED, Phase.UNKNOWN)


class Truth(str, enum.Enum):
    """Whether a condition holds, in Kubernetes' words."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Kind(str, enum.Enum):
    """What a condition is about, in the order in which they are shown."""

    INITIALIZED = "Initialized"
    RUNNING = "Running"
    REPLICA_FAILURE = "ReplicaFailure"
    COMPLETED = "Completed"
    FAILED = "Failed"
    PAUSED = "Paused"


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One condition.

    Attributes:
        kind: what it is about.
        truth: whether it holds.
        reason: one word in CamelCase.
        message: one sentence, may be empty.
        since: when `truth` last changed, RFC 3339 in UTC.
    """

    kind: Kind
    truth: Truth
    reason: str
    message: str
    since: str

    def to_json(self) -> dict[str, object]:
        """Return it in Kubernetes' shape."""
        return {
            "type": self.kind.value,
            "status": self.truth.value,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": self.since,
        }


@dataclass(frozen=True, kw_only=True)
class Task:
    """One replica of the job.

    Attributes:
        name: the user's name for it.
        role: launcher or worker.
        phase: how it stands.
        reason: why, as far as there is something to say.
        restarts: how often it was started again, as far as the one who tells can see.
        host: address or hostname; empty while that is not known.
        slots: ranks that it may take; None while that is not known.
    """

    name: str
    role: str
    phase: Phase
    reason: str = ""
    restarts: int = 0
    host: str = ""
    slots: int | None = None

    def to_json(self) -> dict[str, object]:
        """Return a JSON-ready mapping."""
        return {
            "name": self.name,
            "role": self.role,
            "phase": self.phase.value,
            "reason": self.reason,
            "restarts": self.restarts,
            "host": self.host,
            "slots": self.slots,
        }


def aggregate(tasks: Sequence[Task], expected: int | None) -> dict[str, int]:
    """Count the workers in each phase; those that nobody has seen yet are pending.

    Args:
        tasks: all that is known of.
        expected: how many workers there will be; None while that is not known.
    """
    workers = [task for task in tasks if task.role == "worker"]
    counts = dict.fromkeys((phase.value.lower() for phase in WORKER_PHASES), 0)
    for task in workers:
        counts[task.phase.value.lower()] += 1
    counts["pending"] += max(0, (expected or 0) - len(workers))
    return counts
