"""What was tried so far, as the status file tells it."""

from __future__ import annotations

from mpiboot.model.outcome import Outcome
from mpiboot.model.record import dataclass
from mpiboot.plan.retry import Kind


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt at the job.

    Attributes:
        number: from 1.
        kind: why it was made.
        began: when, RFC 3339 in UTC.
        outcome: how it ended; None while it lasts.
    """

    number: int
    kind: Kind
    began: str
    outcome: Outcome | None = None

    def to_json(self) -> dict[str, object]:
        """Return a JSON-ready mapping; of the outcome code and message."""
        ended = self.outcome
        return {
            "number": self.number,
            "kind": self.kind.value,
            "began": self.began,
            "outcome": None if ended is None else {"code": ended.code, "message": ended.message},
        }
