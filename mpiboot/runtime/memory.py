"""Read what this container's memory cgroup has counted."""

from __future__ import annotations

import functools

from mpiboot.model import memory
from mpiboot.model.memory import Memory, Place
from mpiboot.runtime.files import kernel_text


def counters() -> Memory:
    """Return the counters of our own cgroup; what cannot be read is None."""
    return _counted()[1]


def version() -> int:
    """Return the version of the interface that counts our memory; 0 where none does."""
    return _counted()[0]


def _counted() -> tuple[int, Memory]:
    for place in _places():
        found = _v1(place) if place.version == 1 else _v2(place)
        if found.oom_kills is not None:
            return place.version, found
    return 0, Memory()


@functools.cache
def _places() -> tuple[Place, ...]:
    """Find our cgroup once: every heartbeat asks for its counters, and it does not move."""
    cgroup, mounts = kernel_text("/proc/self/cgroup"), kernel_text("/proc/self/mountinfo")
    return tuple(memory.places(cgroup, mounts))


def _v2(place: Place) -> Memory:
    """Read version 2; the uppermost cgroup has none of these files."""
    own, *_ = directories = place.directories
    return Memory(
        used_bytes=memory.count(kernel_text(f"{own}/memory.current")),
        oom_kills=memory.entry(kernel_text(f"{own}/memory.events"), "oom_kill"),
        peak_bytes=memory.count(kernel_text(f"{own}/memory.peak")),
        limit_bytes=memory.least(
            [memory.count(kernel_text(f"{directory}/memory.max")) for directory in directories]
        ),
    )


def _v1(place: Place) -> Memory:
    own, *_ = directories = place.directories
    return Memory(
        used_bytes=memory.count(kernel_text(f"{own}/memory.usage_in_bytes")),
        oom_kills=memory.entry(kernel_text(f"{own}/memory.oom_control"), "oom_kill"),
        peak_bytes=memory.count(kernel_text(f"{own}/memory.max_usage_in_bytes")),
        limit_bytes=memory.least(
            [memory.count(kernel_text(f"{one}/memory.limit_in_bytes")) for one in directories]
        ),
    )
