"""Who else lives here: all of the container as PID 1, else our descendants."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> bool:
    """Adopt orphaned descendants when not PID 1, as PID 1 would; tell whether it worked."""
    if os.getpid() == 1:
        return True
    import ctypes  # noqa: PLC0415 - not for PID 1

    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def parents() -> dict[int, int]:
    """Map each living process to its parent; zombies are left out, for no signal ends them."""
    table = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError):
            # The command name may hold blanks and brackets; the fields follow its last bracket.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] not in ("Z", "X"):
                table[int(entry.name)] = int(fields[1])
    return table


def others(spare: Collection[int] = ()) -> list[int]:
    """List the processes that this agent answers for, without itself and `spare`."""
    table = parents()
    me = os.getpid()
    if me == 1:
        return [pid for pid in table if pid != 1 and pid not in spare]
    return [pid for pid in table if pid not in spare and _descends(pid, me, table)]


def adopted(names: Collection[str]) -> int:
    """Count our children of these command names: daemons that detached from their SSH session."""
    me = os.getpid()
    return sum(parent == me and name(pid) in names for pid, parent in parents().items())


def descendants(root: int, table: dict[int, int] | None = None) -> list[int]:
    """List the living descendants of a process, by a table of now or the one given."""
    table = parents() if table is None else table
    return [pid for pid in table if _descends(pid, root, table)]


def line(pid: int, table: dict[int, int]) -> list[int]:
    """List a process, its parent, and so on."""
    found = []
    while pid:
        found.append(pid)
        pid = table.get(pid, 0)
    return found


def _descends(pid: int, root: int, table: dict[int, int]) -> bool:
    parent = table.get(pid, 0)
    while parent and parent != root:
        parent = table.get(parent, 0)
    return parent == root


def name(pid: int) -> str:
    """Return the command name of a process, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def send(pids: Collection[int], number: int) -> None:
    """Signal each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def send_groups(pids: Collection[int], number: int) -> None:
    """Signal each process that is still there, with all of its group where it leads one."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(-pid if os.getpgid(pid) == pid else pid, number)


def kill_all(spare: Collection[int] = ()) -> None:
    """Kill everything that this agent answers for, at once."""
    if os.getpid() == 1 and not spare:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    send(others(spare), signal.SIGKILL)
