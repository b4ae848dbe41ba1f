"""How much CPU time and memory a process and what it has started have used."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from mpiboot.model.record import dataclass

_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process.

    Attributes:
        parent: its parent's process id.
        cpu_ms: CPU time of it and of its children that have ended.
        rss_bytes: memory that it holds, shared pages included.
    """

    parent: int
    cpu_ms: float
    rss_bytes: int


class Table:
    """All processes of this container, as they were at one moment."""

    def __init__(self) -> None:
        self._processes = _processes()
        self._children: dict[int, list[int]] = {}
        for pid, one in self._processes.items():
            self._children.setdefault(one.parent, []).append(pid)

    def tree(self, root: int) -> list[int]:
        """List a process and all below it, parents first; empty when it is not there."""
        found = [root] if root in self._processes else []
        for pid in found:
            found += self._children.get(pid, [])
        return found

    def used(self, root: int) -> tuple[int, int] | None:
        """Return what a process and all below it have used; None when it is not there.

        Children that have ended count with their parents.

        Returns:
            CPU time in milliseconds, memory in bytes.
        """
        there = [self._processes[pid] for pid in self.tree(root)]
        return _sum(there) if there else None

    def all_used(self) -> tuple[int, int]:
        """Return what all processes have used; CPU time in milliseconds, memory in bytes."""
        return _sum(self._processes.values())


def _sum(processes: Collection[Process]) -> tuple[int, int]:
    cpu_ms = sum(one.cpu_ms for one in processes)
    return round(cpu_ms), sum(one.rss_bytes for one in processes)


def cpu_ms(roots: Collection[int]) -> dict[int, int]:
    """Return for each process that is there the CPU time of it and all below it.

    Args:
        roots: process ids.

    Returns:
        milliseconds by process id.
    """
    table = Table()
    used = {root: table.used(root) for root in roots}
    return {root: one[0] for root, one in used.items() if one is not None}


def tree(root: int) -> list[int]:
    """List a process and all below it, parents first."""
    return Table().tree(root)


def _processes() -> Mapping[int, Process]:
    found: dict[int, Process] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The command name may hold blanks and brackets; the fields follow its last bracket.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            found[int(entry.name)] = Process(
                parent=int(fields[1]),
                cpu_ms=sum(int(field) for field in fields[11:15]) * _TICK_MS,
                rss_bytes=int(fields[21]) * _PAGE,
            )
        except (OSError, ValueError, IndexError):
            continue
    return found
