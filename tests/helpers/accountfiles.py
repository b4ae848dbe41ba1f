"""Account files for pods: an image's own, in place of this machine's."""

from __future__ import annotations

import os
from pathlib import Path

from mpiboot.local.cluster import Bind

MPI = 1000  # uid and gid of the user `mpi`


def passwd(
    directory: Path, *, shell: str = "/bin/sh", home: str = "/tmp", mode: int = 0o644
) -> Bind:
    """Make an /etc/passwd with root, the user mpi, and sshd's own."""
    path = directory / "passwd"
    lines = (
        "root:x:0:0:root:/root:/bin/bash",
        f"mpi:x:{MPI}:{MPI}::{home}:{shell}",
        "sshd:x:104:65534::/run/sshd:/usr/sbin/nologin",
    )
    path.write_text("\n".join(lines) + "\n")
    os.chown(path, 0, 0)
    path.chmod(mode)
    return Bind(source=str(path), target="/etc/passwd")


def shadow(directory: Path, *locked: str) -> Bind:
    """Make an /etc/shadow in which some accounts are locked as useradd leaves them."""
    path = directory / "shadow"
    names = ("root", "mpi", "sshd")
    path.write_text("".join(f"{n}:{'!' if n in locked else '*'}:20000::::::\n" for n in names))
    path.chmod(0o640)
    return Bind(source=str(path), target="/etc/shadow")
