"""Shared memory that dead ranks have left: it takes room in /dev/shm until somebody removes it."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
from pathlib import Path

SHM = Path("/dev/shm")  # noqa: S108 - where MPI makes them
# Open MPI 4 and 5, UCX, MPICH, Intel MPI, PSM2, NCCL: whoever uses one has it open or mapped.
_NAMES = (
    "vader_segment.", "sm_segment.", "ucx_shm_posix_", "mpich_shar", "Intel_MPI_", "shm-file-",
    "psm2_shm", "nccl-",
)  # fmt: skip
_F_SETSIG = 10  # Python's fcntl knows it from 3.13 on as a name


def clean(directory: Path = SHM) -> tuple[int, int]:
    """Remove segments of ours that nobody has open or mapped, in this container or in another.

    Args:
        directory: where they are.

    Returns:
        how many there were, and their bytes.
    """
    count = size_bytes = 0
    try:
        entries = [one for one in os.scandir(directory) if one.name.startswith(_NAMES)]
    except OSError:
        return 0, 0
    for entry in entries:
        removed = _remove_dead(entry.path)
        count += removed is not None
        size_bytes += removed or 0
    return count, size_bytes


def _remove_dead(path: str) -> int | None:
    """Remove a segment if it is provably dead; return its bytes, None where it stays.

    The kernel grants a lease to write only where no other descriptor and no mapping is left on the
    whole machine: containers that share /dev/shm do not see each other's processes.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode) or seen.st_uid != os.geteuid():
            return None
        fcntl.fcntl(fd, _F_SETSIG, signal.SIGCHLD)  # else who opens it now would kill us with SIGIO
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        Path(path).unlink()
    except OSError:
        return None
    finally:
        os.close(fd)
    return seen.st_blocks * 512
