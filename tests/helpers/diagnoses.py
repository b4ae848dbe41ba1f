"""What the doctor said, read from its JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from mpiboot.report import schema


@dataclass(frozen=True)
class Told:
    """One diagnosis.

    Attributes:
        code: exit code of the command.
        document: its JSON.
    """

    code: int
    document: dict[str, Any]

    def of(self, topic: str, grade: str = "") -> list[dict[str, Any]]:
        """Return the findings of a topic, of all grades or one."""
        return [
            one
            for one in self.document["findings"]
            if one["topic"] == topic and grade in ("", one["grade"])
        ]

    @property
    def failing(self) -> set[str]:
        """The topics of which something will fail."""
        return {one["topic"] for one in self.document["findings"] if one["grade"] == "will fail"}

    def only(self, topic: str, grade: str) -> dict[str, Any]:
        """Return the one finding of a topic and grade."""
        found = self.of(topic, grade)
        assert len(found) == 1, self.of(topic)
        return found[0]


def read(code: int, out: str | bytes) -> Told:
    """Read what `mpiboot doctor --json` printed; it keeps to its schema, and to its own exit code."""
    document = json.loads(out)
    jsonschema.validate(document, json.loads(schema.text("doctor")))
    assert document["exit_code"] == code, document
    return Told(code, document)
