"""Read fields of a document that may have anything in them: of the right type and bounded, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Data = Mapping[str, object]

_MOST_TEXT = 1000
_MOST_ITEMS = 100_000


def mapping(data: Data, key: str) -> Data:
    """Return an object; empty where there is none."""
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def mappings(data: Data, key: str) -> Sequence[Data]:
    """Return the objects of a list."""
    value = data.get(key)
    items = value[:_MOST_ITEMS] if isinstance(value, list) else []
    return [one for one in items if isinstance(one, Mapping)]


def each(data: Data, key: str, reading: Callable[[Data], T]) -> tuple[T, ...]:
    """Read each object of a list."""
    return tuple(reading(one) for one in mappings(data, key))


def text(data: Data, key: str) -> str:
    """Return a text, or its beginning; empty where there is none."""
    value = data.get(key)
    return value[:_MOST_TEXT] if isinstance(value, str) else ""


def texts(data: Data, key: str, most: int) -> tuple[str, ...]:
    """Return the texts of a list, so many of them at most."""
    value = data.get(key)
    items = value[:most] if isinstance(value, list) else []
    return tuple(one[:_MOST_TEXT] for one in items if isinstance(one, str))


def number(data: Data, key: str) -> float | None:
    """Return a number that is not negative; None where there is none."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    known = 0 <= value < 1e18 and math.isfinite(value)
    return value if known else None


def whole(data: Data, key: str) -> int | None:
    """Return the same as a whole number."""
    value = number(data, key)
    return None if value is None else int(value)
