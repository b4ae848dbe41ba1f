"""The JSON Schema of the status file, as it is shipped."""

from __future__ import annotations

from pathlib import Path


def text() -> str:
    """Return the schema as text."""
    return Path(__file__).with_name("status.schema.json").read_text()
