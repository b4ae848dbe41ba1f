"""The JSON Schemas of what programs read, as they are shipped."""

from __future__ import annotations

from pathlib import Path

SHIPPED = {
    "status": "status.schema.json",
    "view": "view.schema.json",
    "doctor": "diagnosis.schema.json",
    "log": "log.schema.json",
    "version": "version.schema.json",
}


def text(what: str = "status") -> str:
    """Return a schema as text.

    Args:
        what: a key of SHIPPED.
    """
    return Path(__file__).with_name(SHIPPED[what]).read_text()
