"""Read what this container's memory cgroup has counted."""

from __future__ import annotations

from pathlib import Path

from mpiboot.model import memory
from mpiboot.model.memory import Memory, Place


def counters() -> Memory:
    """Return the counters of our own cgroup; what cannot be read is None."""
    cgroup, mounts = _text("/proc/self/cgroup"), _text("/proc/self/mountinfo")
    for place in memory.places(cgroup, mounts):
        found = _v1(place) if place.version == 1 else _v2(place)
        if found.oom_kills is not None:
            return found
    return Memory()


def _v2(place: Place) -> Memory:
    """Read version 2; the uppermost cgroup has none of these files."""
    own, *_ = directories = place.directories
    return Memory(
        used_bytes=memory.count(_text(f"{own}/memory.current")),
        oom_kills=memory.entry(_text(f"{own}/memory.events"), "oom_kill"),
        peak_bytes=memory.count(_text(f"{own}/memory.peak")),
        limit_bytes=memory.least(
            [memory.count(_text(f"{directory}/memory.max")) for directory in directories]
        ),
    )


def _v1(place: Place) -> Memory:
    own, *_ = directories = place.directories
    return Memory(
        used_bytes=memory.count(_text(f"{own}/memory.usage_in_bytes")),
        oom_kills=memory.entry(_text(f"{own}/memory.oom_control"), "oom_kill"),
        peak_bytes=memory.count(_text(f"{own}/memory.max_usage_in_bytes")),
        limit_bytes=memory.least(
            [memory.count(_text(f"{one}/memory.limit_in_bytes")) for one in directories]
        ),
    )


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
