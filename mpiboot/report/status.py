"""The status file and the termination message."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpiboot import __version__
from mpiboot.log import logger
from mpiboot.model.outcome import Outcome, Phase
from mpiboot.model.record import dataclass
from mpiboot.model.standing import Condition, Task
from mpiboot.model.termination import KUBERNETES_MESSAGE, termination_message
from mpiboot.report.timeline import Timeline
from mpiboot.runtime import files

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a job stands, as far as this agent sees it."""

    phase: Phase
    conditions: Sequence[Condition]
    tasks: Sequence[Task]


def document(
    role: str,
    timeline: Timeline,
    standing: Standing,
    details: Mapping[str, object],
    outcome: Outcome | None,
) -> dict[str, object]:
    """Build the status as a JSON-ready mapping; docs/status.md and status.schema.json describe it.

    Args:
        role: whose it is.
        timeline: its stages.
        standing: how the job stands.
        details: the role's own fields: hosts, readiness, leases.
        outcome: how it ended; None before.
    """
    return {
        "schema": SCHEMA,
        "role": role,
        "version": __version__,
        "phase": standing.phase.value,
        "stage": timeline.stage.value,
        "stages": [{"stage": step.stage.value, "since": step.wall} for step in timeline.steps],
        "conditions": [one.to_json() for one in standing.conditions],
        "tasks": [one.to_json() for one in standing.tasks],
        **details,
        "outcome": outcome.to_json() if outcome is not None else None,
    }


def write_status(path: Path, status: Mapping[str, object]) -> None:
    """Write the status file atomically; a place that cannot be written is told once, as a warning."""
    try:
        files.write(path, json.dumps(status, indent=2) + "\n", mode=0o644)
    except OSError as fault:
        logger.warning("cannot write the status file %s: %s", path, fault.strerror)


def write_termination(path: str, outcome: Outcome, role: str) -> None:
    """Write the termination message, in place: what Kubernetes has there is a mount.

    Where nobody named a file and there is no Kubernetes, there is none, and none is made.
    """
    if not path or (path == KUBERNETES_MESSAGE and not Path(path).exists()):
        return
    try:
        Path(path).write_text(termination_message(outcome, role))
    except OSError as fault:
        logger.warning("cannot write the termination message %s: %s", path, fault.strerror)
