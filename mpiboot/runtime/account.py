"""Look at this process's account, and add a line to /etc/passwd."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from mpiboot.errors import ConfigError
from mpiboot.model import accounts
from mpiboot.model.accounts import Entry, Seen
from mpiboot.runtime import files

_PASSWD = Path("/etc/passwd")
_GROUP = "/etc/group"
_LIBRARIES = ("/usr/lib/*-linux-gnu*", "/usr/lib64", "/usr/lib", "/lib64", "/lib", "/usr/local/lib")


def look(env: Mapping[str, str]) -> Seen:
    """See which account this process has in an environment, and what could give it one if it lacks it."""
    entry, home = _entry(env), env.get("HOME", "")
    runs = entry is not None and os.access(entry.shell, os.X_OK)
    if entry is not None and accounts.starts(entry.shell, runs=runs):
        return Seen(uid=os.getuid(), gid=os.getgid(), entry=entry)
    return Seen(
        uid=os.getuid(),
        gid=os.getgid(),
        entry=entry,
        shell_runs=runs,
        passwd=files.kernel_text(_PASSWD),
        group=files.kernel_text(_GROUP),
        writable=os.access(_PASSWD, os.W_OK),
        library=_library(),
        home=home if _fits(home) and Path(home).is_dir() else "",
    )


def add(line: str) -> None:
    """Add a line to /etc/passwd.

    Raises:
        ConfigError: it cannot be written after all.
    """
    try:
        with _PASSWD.open("a") as file:
            file.write(line)
    except OSError as fault:
        raise ConfigError(f"cannot add a line to {_PASSWD}: {fault.strerror}") from fault


def locked(user: str) -> bool:
    """Tell whether the account is locked with `!`, which sshd refuses unless PAM decides."""
    with contextlib.suppress(OSError):
        for line in Path("/etc/shadow").read_text(errors="replace").splitlines():
            account, _, rest = line.partition(":")
            if account == user:
                return rest.startswith("!")
    return False


def _fits(home: str) -> bool:
    """Tell whether a path can stand in a line of /etc/passwd."""
    return home.startswith("/") and ":" not in home and home.isprintable()


def _entry(env: Mapping[str, str]) -> Entry | None:
    """Ask the system, or the nss_wrapper that the image's own entry point has set up for the job."""
    file = accounts.wrapped_file(env)
    wrapped = accounts.find(files.kernel_text(file), os.getuid()) if file else None
    if wrapped is not None:
        return wrapped
    try:
        found = pwd.getpwuid(os.getuid())
    except KeyError:
        return None
    return Entry(name=found.pw_name, home=found.pw_dir, shell=found.pw_shell or accounts.SHELL)


def _library() -> str:
    """Find nss_wrapper's library where the loader would."""
    import glob  # noqa: PLC0415 - most have an account

    for place in _LIBRARIES:
        for path in sorted(glob.glob(f"{place}/{accounts.LIBRARY}")):  # noqa: PTH207
            return path
    return ""
