"""Core files: none of ours holds memory, those of the job are as the user wants them.

The limit of core files would not do: children inherit it, and the kernel does not ask it where cores
go to a program. To be undumpable would do, but takes /proc/PID/fd and environ from all in the container
that are not privileged, and with it `>/proc/1/fd/1`, by which people write to a container's log. So the
process chooses what its core contains: nothing but registers and notes. Children inherit the choice,
and get it undone.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

_NOTHING = "0"


def withhold() -> str:
    """Keep our memory out of core files; return the choice that was before, empty if it cannot be made."""
    path = Path("/proc/self/coredump_filter")
    with contextlib.suppress(OSError):
        before = path.read_text().strip()
        path.write_text(_NOTHING)
        return f"0x{before}"
    return ""


def grant(pid: int, choice: str) -> None:
    """Give a child the choice that was before; one that has gone, or is another user's, has its own."""
    with contextlib.suppress(OSError):
        if choice:
            Path(f"/proc/{pid}/coredump_filter").write_text(choice)
