"""Claim a private directory, and remove those that dead owners left."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from pathlib import Path

from mpiboot.errors import ConfigError

ROOT = Path("/run/mpiboot-local")


class StateDirectory:
    """A directory of ours, locked as long as we live; the kernel unlocks it when we die.

    Args:
        root: the directory that holds all clusters' directories; made when missing.

    Raises:
        ConfigError: it cannot be made there.
    """

    def __init__(self, root: Path = ROOT) -> None:
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            guard = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as fault:
            raise ConfigError(f"cannot use {root} for the pods' files: {fault.strerror}") from fault
        try:
            # Between mkdir and lock our own directory looks like a dead one's; hence the guard.
            fcntl.flock(guard, fcntl.LOCK_EX)
            self.removed = _remove_dead(root)
            self.path = root / f"{os.getpid()}-{secrets.token_hex(4)}"
            self.path.mkdir(mode=0o700)
            self._lock = _try_lock(self.path)
        finally:
            os.close(guard)

    def close(self) -> None:
        """Remove the directory; idempotent."""
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def _try_lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock, or None when somebody alive holds it."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def _remove_dead(root: Path) -> list[Path]:
    removed = []
    for path in root.iterdir():
        lock = _try_lock(path) if path.is_dir() else None
        if lock is not None:
            # Nothing is mounted there: mounts exist in the pods' own namespaces only.
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)
            removed.append(path)
    return removed
