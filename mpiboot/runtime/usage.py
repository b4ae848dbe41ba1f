"""How much CPU time a process and what it has started have used."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def cpu_ms(roots: Collection[int]) -> dict[int, int]:
    """Return for each process that is there the CPU time of it and all below it.

    Children that have ended count with their parents.

    Args:
        roots: process ids.

    Returns:
        milliseconds by process id.
    """
    used, children = _table()
    return {root: round(_of_tree(root, used, children)) for root in roots if root in used}


def tree(root: int) -> list[int]:
    """List a process and all below it, parents first."""
    used, children = _table()
    found = [root] if root in used else []
    for pid in found:
        found += children.get(pid, [])
    return found


def _of_tree(root: int, used: Mapping[int, float], children: Mapping[int, list[int]]) -> float:
    total, pids = 0.0, [root]
    for pid in pids:
        total += used.get(pid, 0.0)
        pids += children.get(pid, [])
    return total


def _table() -> tuple[dict[int, float], dict[int, list[int]]]:
    used: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The command name may hold blanks and brackets; the fields follow its last bracket.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parent, ticks = int(fields[1]), sum(int(field) for field in fields[11:15])
        except (OSError, ValueError, IndexError):
            continue
        used[int(entry.name)] = ticks * _TICK_MS
        children.setdefault(parent, []).append(int(entry.name))
    return used, children
