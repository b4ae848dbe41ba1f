"""Private directories and files: right owner, right mode, whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from mpiboot.errors import ConfigError

_FOREIGN = "belongs to another user or is no directory"
_SOCKET_PATH = 107  # bytes, at most: unix(7)
_SOCKET_NAME = len("/agent.sock")
_LEAST_BYTES = 64 * 1024  # keys, configurations and hostfile of a small job


def runtime_dir(chosen: str, env: Mapping[str, str], role: str) -> Path:
    """Make the agent's private directory, 0700, in the first place that can be written.

    Raises:
        ConfigError: no place can be written; names each one and why.
    """
    tried = []
    for base in candidates(chosen, env):
        path = base / role
        try:
            why = _too_long(path)
            if not why:
                _own_directory(base)
                _own_directory(path)
                why = cramped(path)
        except OSError as fault:
            why = str(fault.strerror)
        if not why:
            return path
        tried.append(f"{base}: {why}")
    raise _no_place(tried)


def foreseen_dir(chosen: str, env: Mapping[str, str], role: str) -> Path:
    """Tell where `runtime_dir` would make the directory; nothing is made.

    Raises:
        ConfigError: as `runtime_dir`.
    """
    tried = []
    for base in candidates(chosen, env):
        path = base / role
        why = _too_long(path) or _unusable(base) or _unusable(path) or cramped(path)
        if not why:
            return path
        tried.append(f"{base}: {why}")
    raise _no_place(tried)


def _no_place(tried: list[str]) -> ConfigError:
    return ConfigError(
        "no directory can be written for keys and sockets (" + "; ".join(tried) + ")",
        hint="mount a tmpfs at /run or /tmp, or name a directory with MPIBOOT_RUNTIME_DIR",
    )


def _unusable(path: Path) -> str:
    """Say why a directory could not be made or taken; empty where it could."""
    if os.path.lexists(path) and _foreign(path):
        return _FOREIGN
    return barrier(path)


def barrier(path: Path) -> str:
    """Say why nothing could be made or written at a path; empty where it could."""
    place = nearest(path)
    if os.access(place, os.W_OK | (os.X_OK if place.is_dir() else 0)):
        return ""
    read_only = os.statvfs(place).f_flag & os.ST_RDONLY
    return os.strerror(errno.EROFS if read_only else errno.EACCES)


def cramped(path: Path) -> str:
    """Say that a file system is full; empty where there is room, as far as it tells."""
    seen = os.statvfs(nearest(path))
    # One without a size, as a tmpfs may be, tells of no block at all.
    full = seen.f_blocks and seen.f_bavail * seen.f_frsize < _LEAST_BYTES
    return os.strerror(errno.ENOSPC) if full else ""


def _too_long(path: Path) -> str:
    """Say that a socket in a directory would have too long a path for the kernel."""
    length = len(os.fsencode(path)) + _SOCKET_NAME
    if length <= _SOCKET_PATH:
        return ""
    return f"a socket there would have a path of {length} bytes, and {_SOCKET_PATH} are possible"


def temporary(env: Mapping[str, str]) -> tuple[Path, str]:
    """Tell where programs put temporary files, and why that would not work; it is made if need be."""
    place = Path(env.get("TMPDIR") or "/tmp")  # noqa: S108 - where programs look, too
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place, barrier(place) or cramped(place)
    except OSError as fault:
        return place, str(fault.strerror)


def candidates(chosen: str, env: Mapping[str, str]) -> list[Path]:
    """List the places where the private directory may be, in order."""
    if chosen:
        return [Path(chosen)]
    own = f"mpiboot-{os.getuid()}"
    return [
        Path("/run/mpiboot"),
        Path(env.get("TMPDIR") or "/tmp") / own,  # noqa: S108 - 0700 and owner are checked below
        Path("/dev/shm") / own,  # noqa: S108 - as above
    ]


def _own_directory(path: Path) -> None:
    """Make a directory 0700, or accept one that is ours; never one that another user laid out."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=True)
    if _foreign(path):
        raise PermissionError(0, _FOREIGN)
    path.chmod(0o700)
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(0, "cannot be written")


def nearest(path: Path) -> Path:
    """Return a path, or the nearest one above it that is there."""
    while not os.access(path, os.F_OK) and path != path.parent:
        path = path.parent
    return path


def noexec(path: Path) -> bool:
    """Tell whether programs could not be started from a path."""
    return bool(os.statvfs(nearest(path)).f_flag & os.ST_NOEXEC)


def _foreign(path: Path) -> bool:
    seen = path.lstat()
    return not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid()


def strictly_private(path: Path) -> bool:
    """Tell whether no directory above may be written by others; sshd's StrictModes asks that."""
    return all(not parent.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) for parent in path.parents)


def write(path: Path, text: str | bytes, mode: int = 0o600) -> None:
    """Write a file atomically: readers see the old text or the new one, whole.

    What came from the environment or a command line may be no UTF-8: its bytes stay what they were.
    """
    data = text.encode(errors="surrogateescape") if isinstance(text, str) else text
    # What tempfile.mkstemp does; tempfile itself is slow to import.
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException as fault:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(fault, OSError) and fault.filename is None:
            fault.filename = str(path)  # a full disk does not say where it is
        raise


def begins_with(path: str, mark: bytes) -> bool:
    """Tell whether a file begins with some bytes; no for one that cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError:
        return False


def is_null(fd: int) -> bool:
    """Tell whether a descriptor is /dev/null, or closed."""
    try:
        return os.fstat(fd).st_rdev == Path(os.devnull).stat().st_rdev
    except OSError:
        return True


def head(path: str, limit: int = 1 << 20) -> str | None:
    """Read the beginning of a text file; None when it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(limit).decode(errors="replace")
    except OSError:
        return None


def kernel_text(path: str | Path) -> str:
    """Read a file of /proc or /sys; empty when it cannot be read, as when its process has gone."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def read_text(path: str, limit: int = 16 * 1024 * 1024) -> str | None:
    """Read a text file; None when it cannot be read. Bytes that are not UTF-8 are replaced.

    Raises:
        ConfigError: it is larger than `limit` bytes.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(limit + 1)
    except OSError:
        return None
    if len(data) > limit:
        raise ConfigError(
            f"{path} is larger than {limit} bytes", hint="check that it is the right file"
        )
    return data.decode(errors="replace")
