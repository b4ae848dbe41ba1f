"""Read fields of what another process says: of the right type and in bounds, or nothing."""

from __future__ import annotations

from collections.abc import Mapping


def whole(body: Mapping[str, object], key: str, most: int) -> int | None:
    """Return a field that is a whole number of 0 to `most`, else None."""
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        return None
    return value
