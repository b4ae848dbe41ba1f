"""The schemas that are shipped, as judges of what is written."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from mpiboot.report import schema


@functools.cache
def _judge(what: str) -> Any:
    loaded = json.loads(schema.text(what))
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def problems(document: Mapping[str, object], what: str = "status") -> list[str]:
    """Say what a document has that the schema does not allow."""
    return [f"{one.json_path}: {one.message}" for one in _judge(what).iter_errors(document)]


def assert_valid(document: Mapping[str, object], what: str = "status") -> None:
    """Assert that a document keeps to its schema, one of those that `mpiboot schema` shows."""
    assert problems(document, what) == []
