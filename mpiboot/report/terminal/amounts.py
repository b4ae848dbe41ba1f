"""Amounts as people read them: short, with their unit, and always as exact as it matters."""

from __future__ import annotations

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_LONG_S = 10 * 365 * _DAY
NOTHING = "-"


def seconds(lasted: float | None) -> str:
    """Return `0.4 s`, `12 s`, `2m05s`, `1h07m` or `3d04h`; `-` for None."""
    if lasted is None:
        return NOTHING
    if lasted < 9.95:
        return f"{max(0.0, lasted):.1f} s"
    whole = int(min(lasted, _LONG_S) + 0.5)
    if whole < 2 * _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02d}s"
    if whole < _DAY:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02d}m"
    return f"{whole // _DAY}d{whole % _DAY // _HOUR:02d}h"


def whole_seconds(lasted: float | None) -> str:
    """Return the same without parts of a second: for what is drawn anew each second."""
    return NOTHING if lasted is None else seconds(float(int(lasted))).replace(".0 s", " s")


def size(count: float | None) -> str:
    """Return `512 B`, `1.5 MiB` or `16 GiB`; `-` for None."""
    if count is None:
        return NOTHING
    value = float(count)
    for unit in _UNITS:
        if value < 1023.5 or unit == _UNITS[-1]:
            break
        value /= 1024
    exact = value < 9.95 and unit not in ("B", "KiB") and abs(value - round(value)) >= 0.05
    return f"{value:.1f} {unit}" if exact else f"{value:.0f} {unit}"


def percent(share: float | None) -> str:
    """Return `97 %`; `-` for None."""
    return NOTHING if share is None else f"{share:.0f} %"


def number(value: float | None) -> str:
    """Return `4`, `2.5`; `-` for None."""
    return NOTHING if value is None else f"{value:g}"
