"""What the doctor finds."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from mpiboot.model.record import dataclass


class Grade(str, enum.Enum):
    """How good a thing is; the value is what people read."""

    OK = "ok"
    WARNING = "warning"
    FAIL = "will fail"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was judged.

    Attributes:
        grade: how good it is.
        text: what is there.
        remedy: what to change; empty when nothing need be.
        code: exit code of the role that will fail; 0 for all else.
    """

    grade: Grade
    text: str
    remedy: str = ""
    code: int = 0


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What was found, by topic, in order.

    Attributes:
        role: which role was judged.
        findings: topic and finding.
    """

    role: str
    findings: Sequence[tuple[str, Finding]]

    @property
    def code(self) -> int:
        """The exit code: of what will fail, that which no retry heals first; 0 where nothing will."""
        codes = [one.code for _, one in self.findings if one.grade is Grade.FAIL]
        return min(codes, default=0)

    def count(self, grade: Grade) -> int:
        """Count the findings of a grade."""
        return sum(one.grade is grade for _, one in self.findings)
