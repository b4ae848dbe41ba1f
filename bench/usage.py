"""What processes use, by the kernel's accounting."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mpiboot.local.cluster import Pod

_EMPTY_S = 5.0
_PERIOD_US = 100_000  # the kernel's default
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Use:
    """What a process uses.

    Attributes:
        rss_kib: resident memory.
        pss_kib: the same, shared pages counted by share.
        threads: how many.
        descriptors: how many are open.
        cpu_s: CPU time so far.
    """

    rss_kib: int
    pss_kib: int
    threads: int
    descriptors: int
    cpu_s: float


def use(pid: int) -> Use:
    """Read what a process uses now."""
    place = Path(f"/proc/{pid}")
    memory = _fields(place / "smaps_rollup")
    ticks = (place / "stat").read_text().rpartition(")")[2].split()[11:13]
    return Use(
        rss_kib=memory["Rss"],
        pss_kib=memory["Pss"],
        threads=_fields(place / "status")["Threads"],
        descriptors=sum(1 for _ in (place / "fd").iterdir()),
        cpu_s=sum(map(int, ticks)) * _TICK_S,
    )


@dataclass(frozen=True)
class Account:
    """A cgroup that counts the CPU of what runs in it, waited for or not."""

    directory: Path

    def cpu_s(self) -> float:
        """Return the CPU seconds so far."""
        usage = self.directory / "cpuacct.usage"
        if usage.exists():
            return int(usage.read_text()) / 1e9
        fields = dict(
            line.split() for line in (self.directory / "cpu.stat").read_text().splitlines()
        )
        return int(fields["usage_usec"]) / 1e6

    def joined(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command line that joins, and becomes the program; 0 is who writes it."""
        procs = str(self.directory / "cgroup.procs")
        return ("sh", "-c", 'echo 0 >"$0" && exec "$@"', procs, *argv)


@contextmanager
def account(name: str) -> Iterator[Account | None]:
    """Open a cgroup, of version 1 or 2, for a while; None where this machine lets us make none."""
    root = Path("/sys/fs/cgroup")
    old = root / "cpuacct"
    if not old.is_dir() and not (root / "cgroup.controllers").exists():
        yield None
        return
    directory = (old if old.is_dir() else root) / f"mpiboot-bench-{os.getpid()}-{name}"
    try:
        directory.mkdir()
    except OSError:
        yield None
        return
    try:
        yield Account(directory)
    finally:
        _remove(directory)


@contextmanager
def confined(name: str, cpus: float) -> Iterator[Account]:
    """Open a cgroup whose processes get so much CPU together.

    Raises:
        RuntimeError: this machine lets us make none.
    """
    root = Path("/sys/fs/cgroup")
    old = root / "cpu"
    directory = (old if old.is_dir() else root) / f"mpiboot-bench-{os.getpid()}-{name}"
    try:
        directory.mkdir()
        if old.is_dir():
            (directory / "cpu.cfs_quota_us").write_text(str(int(cpus * _PERIOD_US)))
        else:
            (directory / "cpu.max").write_text(f"{int(cpus * _PERIOD_US)} {_PERIOD_US}")
    except OSError as fault:
        raise RuntimeError(f"no cgroup with a share of CPU can be made: {fault}") from fault
    try:
        yield Account(directory)
    finally:
        _remove(directory)


def _remove(directory: Path) -> None:
    """Remove a cgroup once it is empty; mpirun does not wait for the ssh that it ended."""
    last = time.monotonic() + _EMPTY_S
    while True:
        try:
            directory.rmdir()
        except OSError:
            if time.monotonic() > last:
                raise
            time.sleep(0.01)
        else:
            return


def running_s(pid: int) -> float:
    """Return the CPU seconds of all threads that live, by the scheduler: not in ticks of 10 ms."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((one / "schedstat").read_text().split()[0]) for one in tasks) / 1e9


def wakeups(pid: int) -> int:
    """Count how often the threads that live gave up the CPU of themselves: they slept and woke."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(_fields(one / "status")["voluntary_ctxt_switches"] for one in tasks)


def inside(pod: Pod) -> list[int]:
    """List the processes of a pod by the PIDs that we know them by."""
    found, ours = [], Path(f"/proc/{pod.pid}/ns/pid").stat()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if os.path.samestat((place / "ns/pid").stat(), ours):
                found.append(int(place.name))
        except OSError:  # it has ended
            continue
    return found


def _fields(path: Path) -> dict[str, int]:
    rows = (line.split() for line in path.read_text().splitlines())
    return {row[0][:-1]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
