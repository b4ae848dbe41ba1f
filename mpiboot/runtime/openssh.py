"""What OpenSSH needs here: an ssh, an sshd that can be started, and the directory that an init would make."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mpiboot.errors import ConfigError
from mpiboot.runtime import files, inspect

PRIVSEP = Path("/run/sshd")


def client(env: Mapping[str, str]) -> str:
    """Return the path of the ssh that is found.

    Raises:
        ConfigError: there is none.
    """
    path = inspect.find_program("ssh", env)
    if path is None:
        raise ConfigError("no ssh client on PATH", hint="install openssh-client in this image")
    return path


def copied(path: str, directory: Path) -> str:
    """Copy sshd into the private directory: the copy has no file capabilities, so it can be started.

    Raises:
        ConfigError: it cannot be copied, or not be started from there.
    """
    import shutil  # noqa: PLC0415 - few have to

    copy = directory / "sshd"
    try:
        shutil.copyfile(path, copy)
        copy.chmod(0o700)
    except OSError as fault:
        raise ConfigError(f"cannot copy {path} to {copy}: {fault.strerror}") from fault
    if files.noexec(copy):
        raise no_copy(path, directory)
    return str(copy)


def no_copy(path: str, directory: Path) -> ConfigError:
    """Say that a copy of sshd could not be started from a directory."""
    return ConfigError(
        f"{path} carries a file capability that this container may not use, and its copy cannot be"
        f" started: {directory} is mounted noexec",
        hint="remove the capability in the image (setcap -r), or name a directory of a mount"
        " without noexec with MPIBOOT_RUNTIME_DIR",
    )


def make_privsep_directory() -> None:
    """Make /run/sshd, which an init system would have made; only root's sshd needs it.

    Raises:
        ConfigError: it is not there and cannot be made.
    """
    if not privsep_missing():
        return
    try:
        PRIVSEP.mkdir(mode=0o755, parents=True)
    except OSError as fault:
        raise no_privsep(fault.strerror or str(fault)) from fault


def privsep_missing() -> bool:
    """Tell whether /run/sshd has to be made before sshd can start."""
    return os.getuid() == 0 and not PRIVSEP.is_dir()


def no_privsep(why: str) -> ConfigError:
    """Say that /run/sshd cannot be made."""
    return ConfigError(
        f"sshd needs the directory /run/sshd, and it cannot be made: {why}",
        hint="mount a tmpfs at /run, or make the directory in the image",
    )
