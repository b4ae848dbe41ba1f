"""The fields of the status file, as its schema has them."""

from __future__ import annotations

import json
from typing import Any

from mpiboot.report import schema
from tests.pages.tables import table

_ROLES = {"worker": "launcher", "launcher": "worker"}


def markdown() -> str:
    """Render a row for each field: who has it, of which type it is, what it means."""
    shape = json.loads(schema.text())
    rows = (
        (f"`{name}`", _of(name, shape), _type(one), one["description"])
        for name, one in shape["properties"].items()
    )
    return table(("field", "of", "type", "meaning"), rows)


def _of(name: str, shape: Any) -> str:
    """Tell whose file has a field: the schema forbids it to the other role."""
    test = shape["allOf"][0]
    role = test["if"]["properties"]["role"]["const"]
    if test["then"]["properties"].get(name) is False:
        return _ROLES[str(role)]
    if test["else"]["properties"].get(name) is False:
        return str(role)
    return "both"


def _type(one: Any) -> str:
    if "const" in one:
        return f"`{one['const']}`"
    if "enum" in one:
        return _listed(one["enum"])
    if "oneOf" in one:
        return " or ".join(_type(choice) for choice in one["oneOf"])
    if "$ref" in one:
        return "object"
    if one.get("type") == "array" and one.get("items"):
        return f"list of {_type(one['items'])}s"
    kinds = one["type"] if isinstance(one["type"], list) else [one["type"]]
    return " or ".join(str(kind).replace("array", "list") for kind in kinds)


def _listed(words: list[str]) -> str:
    return ", ".join(f"`{one}`" for one in words)
