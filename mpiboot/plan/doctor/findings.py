"""How findings are written down."""

from __future__ import annotations

from collections.abc import Iterator

from mpiboot.model.checkup import Trial
from mpiboot.model.diagnosis import Finding, Grade
from mpiboot.plan.limits import Concern

MIB = 1 << 20


def good(text: str) -> Finding:
    """Write down that something is as it should be."""
    return Finding(grade=Grade.OK, text=text)


def doubtful(text: str, remedy: str) -> Finding:
    """Write down what may go wrong, or costs time."""
    return Finding(grade=Grade.WARNING, text=text, remedy=remedy)


def concerned(concern: Concern | None) -> Iterator[Finding]:
    """Write down a limit that is too low, if it is."""
    if concern is not None:
        yield doubtful(concern.text, concern.remedy)


def tried(trial: Trial) -> Finding:
    """Write down what came of a trial: a failed one fails the role, in its own words."""
    if not trial.fault:
        return good(trial.text)
    return Finding(grade=Grade.FAIL, text=trial.fault, remedy=trial.remedy, code=trial.code)


def size(number: int) -> str:
    """Write a number of bytes as people do; -1 is no limit."""
    if number < 0:
        return "unlimited"
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number} bytes"
