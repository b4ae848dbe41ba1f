"""What the memory cgroup of this container says: use, peak, limit, and whom its limit has killed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60
# Names of the files: used, peak, limit, events; version 2 first, then version 1.
_FILES = (
    ("memory.current", "memory.peak", "memory.max", "memory.events"),
    (
        "memory/memory.usage_in_bytes",
        "memory/memory.max_usage_in_bytes",
        "memory/memory.limit_in_bytes",
        "memory/memory.oom_control",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Counters of one moment, in bytes; None: the kernel does not tell.

    Attributes:
        used_bytes: now.
        peak_bytes: the most so far.
        limit_bytes: what may be used; None without a limit.
        oom_kills: processes that the limit has killed so far.
    """

    used_bytes: int | None = None
    peak_bytes: int | None = None
    limit_bytes: int | None = None
    oom_kills: int | None = None


def counters(root: Path = _ROOT) -> Memory:
    """Read the counters of this container, as its own view of the cgroups shows them."""
    for used, peak, limit, events in _FILES:
        kills = _kills(_text(root / events))
        if kills is None and not (root / used).exists():
            continue
        most = _number(root / limit)
        return Memory(
            used_bytes=_number(root / used),
            peak_bytes=_number(root / peak),
            limit_bytes=most if most is not None and most < _UNLIMITED else None,
            oom_kills=kills,
        )
    return Memory()


def _kills(text: str) -> int | None:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.strip().isdigit():
            return int(value)
    return None


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
