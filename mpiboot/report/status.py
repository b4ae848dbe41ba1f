"""The status file and the termination message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from mpiboot import __version__
from mpiboot.log import logger
from mpiboot.model.outcome import Outcome, phase_of, termination_message
from mpiboot.report.timeline import Timeline
from mpiboot.runtime import files

SCHEMA = 1


def document(
    role: str, timeline: Timeline, details: Mapping[str, object], outcome: Outcome | None
) -> dict[str, object]:
    """Build the status as a JSON-ready mapping.

    Fields: schema, role, version, phase, stage, stages (name and UTC time of each beginning), the role's
    own details (hosts, readiness, leases), outcome (null until the end).
    """
    return {
        "schema": SCHEMA,
        "role": role,
        "version": __version__,
        "phase": phase_of(timeline.stage, outcome).value,
        "stage": timeline.stage.value,
        "stages": [{"stage": step.stage.value, "since": step.wall} for step in timeline.steps],
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
    """Write the termination message where Kubernetes looks for it; skip it where it cannot be.

    The file is a mount made by the kubelet: it is written in place and never created.
    """
    target = Path(path) if path else None
    if target is None or not target.exists():
        return
    try:
        target.write_text(termination_message(outcome, role))
    except OSError as fault:
        logger.debug("cannot write %s: %s", path, fault.strerror)
