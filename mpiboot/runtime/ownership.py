"""Own a private directory for a lifetime: it is clean at the start and wiped at the end.

Files are unlinked, not written over: the directory is on a tmpfs or in a container's own layer, and on
neither does writing over a file reach the old blocks for certain.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Collection
from pathlib import Path

# In a directory that we made: only such a one is emptied of everything. One that was there with files
# of its own is the user's, and loses our keys only.
_MARK = ".mpiboot"
_KEYS = ("user_key", "host_key", "authorized_keys")


class Ownership:
    """A hold on a private directory that others can see; the kernel lets go of it when we die.

    What an owner left that was killed goes at once: keys, a socket, hosts that were known.

    Args:
        directory: exists and is ours.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        if self._alone(unless_told=False):  # it may be another container's, too
            wipe(directory)
        if not any(directory.iterdir()):
            (directory / _MARK).touch(mode=0o600)
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def end(self, keep: Collection[str] = ()) -> None:
        """Wipe the directory, less the files named, unless somebody else owns it, too."""
        if self._alone(unless_told=True):  # our keys must not stay
            wipe(self._directory, keep)
        os.close(self._lock)

    def _alone(self, *, unless_told: bool) -> bool:
        """Tell whether nobody else owns it; where a file system has no locks nobody can be told of."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return unless_told
        return True


def wipe(directory: Path, keep: Collection[str] = ()) -> None:
    """Remove what is in a directory, keys first."""
    for name in _KEYS:
        with contextlib.suppress(OSError):
            (directory / name).unlink()
    if not (directory / _MARK).exists():
        return
    for path in directory.iterdir():
        if path.name not in (*keep, _MARK):
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        import shutil  # noqa: PLC0415 - at the end, or after one that was killed

        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        path.unlink()
