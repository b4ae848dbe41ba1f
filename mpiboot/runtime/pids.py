"""Processes and threads that this container may have, as its cgroup counts them."""

from __future__ import annotations

from pathlib import Path

from mpiboot.model import memory
from mpiboot.model.pids import Pids
from mpiboot.runtime.files import kernel_text

# Version 2, then version 1; an engine mounts the container's own directory there.
_PLACES = ("/sys/fs/cgroup", "/sys/fs/cgroup/pids")


def counters() -> Pids:
    """Return the counters of our cgroup; what cannot be read is None."""
    base = next((one for one in _PLACES if Path(one, "pids.max").exists()), _PLACES[0])
    return Pids(
        limit=memory.count(kernel_text(f"{base}/pids.max")),
        used=memory.count(kernel_text(f"{base}/pids.current")),
        refused=memory.entry(kernel_text(f"{base}/pids.events"), "max"),
    )
