"""What the doctor found, as text for people and as JSON for programs."""

from __future__ import annotations

import json

from mpiboot import __version__
from mpiboot.model.counting import counted
from mpiboot.model.diagnosis import Diagnosis, Finding, Grade

SCHEMA = 1
_GRADE = max(len(grade.value) for grade in Grade)


def text(found: Diagnosis) -> str:
    """Return a line for each finding, with the remedy below it, and the sum."""
    width = max(len(topic) for topic, _ in found.findings)
    lines = [line for topic, one in found.findings for line in _lines(topic, one, width)]
    ok, warnings, fails = (found.count(grade) for grade in Grade)
    counts = f"{fails} will fail, {counted(warnings, 'warning')}, {ok} ok"
    return "\n".join([*lines, f"{found.role or 'settings'}: {counts}; exit {found.code}"]) + "\n"


def _lines(topic: str, one: Finding, width: int) -> list[str]:
    lead = f"{one.grade.value:<{_GRADE}}  {topic:<{width}}  "
    first, *rest = one.text.splitlines() or [""]
    indent = " " * len(lead)
    remedy = [f"{indent}-> {one.remedy}"] if one.remedy else []
    return [lead + first, *(indent + line for line in rest), *remedy]


def document(found: Diagnosis) -> dict[str, object]:
    """Return it as a JSON-ready mapping; docs/doctor.md and diagnosis.schema.json describe it."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "role": found.role,
        "exit_code": found.code,
        "findings": [
            {
                "topic": topic,
                "grade": one.grade.value,
                "text": one.text,
                "remedy": one.remedy,
                "exit_code": one.code,
            }
            for topic, one in found.findings
        ],
    }


def as_json(found: Diagnosis) -> str:
    """Return it as JSON text."""
    return json.dumps(document(found), indent=2) + "\n"
