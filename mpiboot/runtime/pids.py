"""Processes and threads that this container may have, as its cgroup counts them."""

from __future__ import annotations

from pathlib import Path

from mpiboot.model.pids import Pids
from mpiboot.runtime.files import kernel_text

# Version 2, then version 1; an engine mounts the container's own directory there.
_PLACES = ("/sys/fs/cgroup", "/sys/fs/cgroup/pids")


def counters() -> Pids:
    """Return the counters of our cgroup; what cannot be read is None."""
    base = next((one for one in _PLACES if Path(one, "pids.max").exists()), _PLACES[0])
    events = kernel_text(f"{base}/pids.events").split()
    return Pids(
        limit=_number(kernel_text(f"{base}/pids.max")),
        used=_number(kernel_text(f"{base}/pids.current")),
        refused=_number(events[1]) if events[:1] == ["max"] and len(events) > 1 else None,
    )


def _number(text: str) -> int | None:
    word = text.strip()
    return int(word) if word.isascii() and word.isdigit() else None
