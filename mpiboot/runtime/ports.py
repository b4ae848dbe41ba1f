"""Is a port free, and if not, who listens on it?"""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from mpiboot.runtime import processes
from mpiboot.runtime.files import kernel_text

_LISTENING = "0A"  # a state of /proc/net/tcp, proc(5)


def refusal(number: int) -> int:
    """Return the error number of listening on a port of all addresses; 0 where it would work.

    The port is taken for a moment and nobody can connect to it.
    """
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                sock.bind((address, number))
        except OSError as fault:
            if fault.errno in (errno.EADDRINUSE, errno.EACCES):
                return fault.errno
    return 0


def free() -> int:
    """Return a port of loopback that is free now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def holder(number: int) -> str:
    """Name the process that listens on a port; empty when it cannot be seen."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(number)}
    for pid in sorted(processes.parents()) if sockets else ():
        if sockets & _open_files(pid):
            return f"{processes.name(pid)} (process {pid})"
    return ""


def _inodes(number: int) -> set[str]:
    found = set()
    for table in ("tcp", "tcp6"):
        for line in kernel_text(f"/proc/net/{table}").splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == number:
                found.add(fields[9])
    return found


def _open_files(pid: int) -> set[str]:
    found = set()
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            found.add(os.readlink(entry))  # noqa: PTH115 - no path: `socket:[12]`
    except OSError:
        pass  # gone, or another user's
    return found
