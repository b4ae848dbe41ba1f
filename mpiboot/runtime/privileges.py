"""Read what this process may do, and what a program's file demands."""

from __future__ import annotations

import os
import pwd
import struct

from mpiboot.errors import ConfigError
from mpiboot.model.privileges import Privileges, named
from mpiboot.runtime.files import kernel_text

_STATUS = "/proc/self/status"
_LOWEST_PORT = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
_PR_SET_DUMPABLE = 4
_EFFECTIVE = 1  # the flag of a file whose program starts with its capabilities in effect
_XATTR = "security.capability"  # <linux/capability.h>: magic, then permitted and inheritable words


def own() -> Privileges:
    """Return this process's privileges; what the kernel does not tell counts as not there."""
    fields = dict(
        line.split(":\t", 1) for line in kernel_text(_STATUS).splitlines() if ":\t" in line
    )
    lowest = kernel_text(_LOWEST_PORT).strip()
    return Privileges(
        uid=os.geteuid(),
        held=named(int(fields.get("CapEff", "0"), 16)),
        bounding=named(int(fields.get("CapBnd", "0"), 16)),
        no_new_privs=fields.get("NoNewPrivs", "0").strip() == "1",
        unprivileged_port=int(lowest) if lowest.isdigit() else 1024,
    )


def become(name: str) -> str:
    """Give up root for a user, for good.

    Args:
        name: of the user.

    Returns:
        the user's home directory.

    Raises:
        ConfigError: there is no such user, or root may not do it here.
    """
    import ctypes  # noqa: PLC0415 - few are told to become another

    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError):
        raise ConfigError(
            f"there is no user {name!r} in /etc/passwd, whom --ssh-user names",
            hint="add it to the image (useradd), or name another one",
        ) from None
    try:
        os.initgroups(name, entry.pw_gid)
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
        # The kernel closes /proc/PID of who has changed user to others of that user: to ranks that
        # write to /proc/1/fd/1, for one. Nothing of root's is left here that they might read.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    except OSError as fault:
        raise ConfigError(
            f"cannot become {name}, whom --ssh-user names: {fault.strerror}; that takes the"
            " capabilities SETGID and SETUID",
            hint="add them, or start the container as that user (runAsUser, --user)",
        ) from fault
    return entry.pw_dir


def demanded(path: str) -> frozenset[str]:
    """Name the capabilities that a program's file puts into effect; it cannot start without them."""
    try:
        data = os.getxattr(path, _XATTR)
    except OSError:
        return frozenset()
    if len(data) < 12:
        return frozenset()
    magic, low = struct.unpack_from("<II", data)
    high = struct.unpack_from("<I", data, 12)[0] if len(data) >= 20 else 0
    return named(low | high << 32) if magic & _EFFECTIVE else frozenset()
