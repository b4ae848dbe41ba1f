"""Read what this container's memory cgroup has counted."""

from __future__ import annotations

import functools

from mpiboot.model import memory
from mpiboot.model.memory import Memory, Place
from mpiboot.runtime.files import kernel_text


def counters() -> Memory:
    """Return the counters of our own cgroup; what cannot be read is None."""
    return _counted()[1]


def working_set() -> int | None:
    """Return what our cgroup holds and the kernel cannot take back at once, in bytes.

    That is its use without the file cache that nobody has touched lately: what the kubelet calls
    the working set. Plain use is near the limit in each container that has read large files.
    None where it cannot be read.
    """
    for place in _places():
        own, *_ = place.directories
        v1 = place.version == 1
        used = kernel_text(f"{own}/memory.{'usage_in_bytes' if v1 else 'current'}")
        name = "total_inactive_file" if v1 else "inactive_file"
        held = memory.working_set(used, kernel_text(f"{own}/memory.stat"), name)
        if held is not None:
            return held
    return None


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
