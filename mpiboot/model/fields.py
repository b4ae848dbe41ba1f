"""Read fields of what another process says: of the right type and in bounds, or nothing."""

from __future__ import annotations

from collections.abc import Mapping

_MOST_MS = 1 << 50
_SHOWN = 200  # characters of what a message quotes


def sent_s(body: Mapping[str, object]) -> float | None:
    """Return when a message says that it was sent, in seconds since the epoch; None: it does not."""
    sent_ms = whole(body, "time_ms", _MOST_MS)
    return None if sent_ms is None else sent_ms / 1000


def whole(body: Mapping[str, object], key: str, most: int) -> int | None:
    """Return a field that is a whole number of 0 to `most`, else None."""
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        return None
    return value


def text(body: Mapping[str, object], key: str, most: int) -> str:
    """Return what people can read of a text field's first `most` characters; empty: it is none."""
    value = body.get(key)
    return printable(value[:most]) if isinstance(value, str) else ""


def printable(said: str) -> str:
    """Leave out of a text what could move a terminal's cursor, or end a line."""
    return "".join(c for c in said if c.isprintable())


def quoted(said: str) -> str:
    """Return a name that somebody gave as a message quotes it: printable and not endless."""
    return printable(said[:_SHOWN])


def shown(value: object) -> str:
    """Render any value as the short text that a message quotes."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        return "a huge number"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
