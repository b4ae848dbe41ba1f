"""Why a rank ended as it did, and who should act on it."""

from __future__ import annotations

import signal as signals

from mpiboot.model.outcome import Failure, Fault
from mpiboot.plan.ranks import End

_NEARLY = 0.9  # a kernel kills before the very last page of a limit is in use
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def failure(end: End) -> Failure:
    """Put the end of a rank into words."""
    who = f"rank {end.rank} on {end.host}"
    if end.why:
        message = f"{who}: {end.detail or end.why}"
    elif end.oom:
        message = f"{who} was OOM-killed ({_memory(end)})"
    elif end.signal is not None:
        message = f"{who} was killed by {name(end.signal)}"
    else:
        message = f"{who} ended with {end.code}"
    return Failure(
        message=message, host=end.host, rank=end.rank, signal=end.signal, code=end.code,
        stderr=end.stderr,
    )  # fmt: skip


def fault(end: End) -> Fault:
    """Tell whose fault an end is.

    A container that came to its own limit will come to it again: the user has to change the limit or
    the program. One that was far from it was killed for what others on its machine have used.
    """
    return Fault.INFRASTRUCTURE if end.oom and not _at_limit(end) else Fault.USER


def _at_limit(end: End) -> bool:
    return end.limit is not None and (end.peak is None or end.peak >= _NEARLY * end.limit)


def _memory(end: End) -> str:
    if _at_limit(end) and end.limit is not None:
        return f"limit {size(end.limit)}"
    used = "" if end.peak is None else f": the container had used {size(end.peak)} at most"
    return f"the machine ran out of memory{used}"


def size(count: int) -> str:
    """Render a number of bytes: 104857600 is `100 MiB`."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.4g} {_UNITS[unit]}"


def name(number: int) -> str:
    """Name a signal."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
