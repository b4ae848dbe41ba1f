"""A container's memory as its cgroup counts it, v1 and v2: what the kernel's texts mean."""

from __future__ import annotations

from collections.abc import Sequence

from mpiboot.model.record import dataclass

_UNLIMITED = 1 << 60  # v1 has a number for it, near 2^63


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What a cgroup has counted since it was made; None for what it does not tell.

    Attributes:
        used_bytes: what it uses now.
        oom_kills: processes in it that the kernel killed for want of memory.
        peak_bytes: the most that it has used.
        limit_bytes: what it may use; None also where there is no limit.
    """

    used_bytes: int | None = None
    oom_kills: int | None = None
    peak_bytes: int | None = None
    limit_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a cgroup's files are.

    Attributes:
        version: of the interface, 1 or 2.
        mount: where the hierarchy is mounted.
        below: directories from there to the cgroup, `a/b`; empty: the mount itself.
    """

    version: int
    mount: str
    below: str

    @property
    def directories(self) -> list[str]:
        """The cgroup's directory, then those above it up to the mount."""
        parts = [part for part in self.below.split("/") if part]
        return ["/".join([self.mount, *parts[:count]]) for count in range(len(parts), -1, -1)]


def places(cgroup: str, mountinfo: str) -> list[Place]:
    """Find the memory cgroup of a process: v1 first, as a hybrid system accounts there.

    A hierarchy may be mounted from any of its directories on, as in containers without a namespace
    of cgroups; a cgroup that lies outside of it is taken for the mount itself.

    Args:
        cgroup: text of /proc/PID/cgroup.
        mountinfo: text of /proc/PID/mountinfo.
    """
    paths = _paths(cgroup)
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(rest) < 3:
            continue
        version = _version(rest[0], rest[2])
        if version in paths:
            root, mount = (_unescaped(text) for text in fields[3:5])
            below = _below(paths[version], root)
            found.append(Place(version=version, mount=mount, below=below))
    return sorted(found, key=lambda place: place.version)


def _paths(cgroup: str) -> dict[int, str]:
    paths = {}
    for line in cgroup.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            paths[2] = path
        elif "memory" in controllers.split(","):
            paths[1] = path
    return paths


def _version(kind: str, options: str) -> int:
    if kind == "cgroup2":
        return 2
    return 1 if kind == "cgroup" and "memory" in options.split(",") else 0


def _below(path: str, root: str) -> str:
    parts = [part for part in path.split("/") if part]
    roots = [part for part in root.split("/") if part]
    inside = parts[: len(roots)] == roots and ".." not in parts
    return "/".join(parts[len(roots) :]) if inside else ""


def _unescaped(text: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text


def count(text: str) -> int | None:
    """Read a file with one number; `max`, the v1 number for that, and anything else are None."""
    word = text.strip()
    if not word.isascii() or not word.isdigit() or int(word) >= _UNLIMITED:
        return None
    return int(word)


def entry(text: str, name: str) -> int | None:
    """Read one line of a file like memory.events: `oom_kill 1`."""
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return count(value)
    return None


def working_set(used: str, stat: str, cache: str) -> int | None:
    """Return use less idle file cache, in bytes; None where use is not told.

    Args:
        used: text of memory.current, or of memory.usage_in_bytes.
        stat: text of memory.stat.
        cache: name of its line with the file cache that was not touched lately.
    """
    total = count(used)
    return None if total is None else max(0, total - (entry(stat, cache) or 0))


def least(limits: Sequence[int | None]) -> int | None:
    """Return the limit that counts, of a cgroup's own and those above it."""
    return min((limit for limit in limits if limit is not None), default=None)
