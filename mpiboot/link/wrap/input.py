"""Give rank 0 its stdin past mpirun: Open MPI 5 loses what it should pass on to another host."""

from __future__ import annotations

import os


def take(link: bytes, nonce: str) -> None:
    """Make the pipe beside the agent's socket our stdin, and so the program's.

    The launcher writes into it from a login of its own; whoever comes first makes it. Opening waits
    for that writer.
    """
    path = os.path.join(os.path.dirname(link), b"stdin." + nonce.encode())
    try:
        os.mkfifo(path, 0o600)
    except FileExistsError:
        pass
    fd = os.open(path, os.O_RDONLY)
    os.unlink(path)
    os.dup2(fd, 0)
    os.close(fd)
