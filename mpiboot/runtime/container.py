"""Look at this container as a doctor does: user, places, limits, process 1."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Mapping
from pathlib import Path

from mpiboot.model.accounts import Entry
from mpiboot.model.checkup import First, Limits, Trial, User
from mpiboot.model.places import File, Room
from mpiboot.model.record import replace
from mpiboot.runtime import account, files, memory, pids, rlimits
from mpiboot.runtime.files import kernel_text


def user(told: Trial, entry: Entry | None, env: Mapping[str, str]) -> User:
    """Describe this process's user.

    Args:
        told: which account it has, or why none.
        entry: the account; None where there is none.
        env: the environment.
    """
    about = User(uid=os.getuid(), gid=os.getgid(), account=told, home_env=env.get("HOME", ""))
    if entry is None:
        return about
    return replace(
        about,
        locked=account.locked(entry.name),
        home=entry.home,
        home_there=Path(entry.home).is_dir(),
    )


def room(path: str, purpose: str) -> Room:
    """Tell whether something can be written at a place, and how much; nothing is."""
    why_not = files.barrier(Path(path))
    try:
        seen = os.statvfs(files.nearest(Path(path)))
    except OSError:
        return Room(path=path, purpose=purpose, why_not=why_not)
    return Room(
        path=path,
        purpose=purpose,
        why_not=why_not,
        free_bytes=seen.f_bavail * seen.f_frsize,
        size_bytes=seen.f_blocks * seen.f_frsize,
    )


def file(path: str) -> File | None:
    """Describe a file; None for what is not there, or no file."""
    try:
        seen = Path(path).stat()
    except OSError:
        return None
    if not stat.S_ISREG(seen.st_mode):
        return None
    return File(
        path=path,
        mode=stat.S_IMODE(seen.st_mode),
        owner=seen.st_uid,
        group=seen.st_gid,
        readable=os.access(path, os.R_OK),
    )


def listed(directory: str) -> list[str]:
    """List what a directory holds, by path; nothing where it cannot be listed."""
    try:
        return sorted(entry.path for entry in os.scandir(directory)) if directory else []
    except OSError:
        return []


def shared_memory() -> Room:
    """Look at /dev/shm; one that is not mounted is not there."""
    path = Path("/dev/shm")  # noqa: S108 - its size is the question
    if not path.is_dir():
        return Room(path=str(path), purpose="shared memory", why_not="it is not there")
    return room(str(path), "shared memory")


def limits() -> Limits:
    """Read the limits of this process and its container."""
    counted = pids.counters()
    return Limits(
        nofile=rlimits.pair(rlimits.NOFILE),
        memlock_bytes=rlimits.locked(),
        pids=counted.limit,
        pids_used=counted.used,
        cgroup=memory.version(),
    )


def first(agent: str) -> First:
    """Look at process 1.

    Args:
        agent: role of an mpiboot that is known to run here; empty: none.
    """
    fields = dict(
        line.split(":\t", 1) for line in kernel_text("/proc/1/status").splitlines() if ":\t" in line
    )
    caught = int(fields.get("SigCgt", "0").strip() or "0", 16)
    argv = kernel_text("/proc/1/cmdline").rstrip("\0").split("\0")
    return First(
        argv=tuple(word for word in argv if word),
        here=os.getpid() == 1,
        catches=bool(caught >> (signal.SIGTERM - 1) & 1),
        agent=agent,
    )
