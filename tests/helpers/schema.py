"""The status file's own schema, as a judge of status files."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from mpiboot.report import schema


@functools.cache
def _judge() -> Any:
    loaded = json.loads(schema.text())
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def problems(document: Mapping[str, object]) -> list[str]:
    """Say what a status document has that the schema does not allow."""
    return [f"{one.json_path}: {one.message}" for one in _judge().iter_errors(document)]


def assert_valid(document: Mapping[str, object]) -> None:
    """Assert that a status document keeps to the schema."""
    assert problems(document) == []
