"""Ranks that meet for ever, each with a child in a session of its own, until something happens.

Usage: under_fault.py KIND [N]. The rank in whose container /tmp/fault appears does it: exit N,
abort N, raise, oom. KIND wait does nothing, stubborn ignores TERM. Where /tmp/end appears, all end.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from mpi4py import MPI  # type: ignore[import-not-found]

PIECE = 16 << 20  # bytes


def happen(kind: str, number: int) -> None:
    """Do what was asked for."""
    if kind == "exit":
        os._exit(number)
    if kind == "abort":
        MPI.COMM_WORLD.Abort(number)
    if kind == "raise":
        raise ValueError("this rank has had enough")
    kept = []
    while kind == "oom":
        kept.append(b"\1" * PIECE)


def main() -> None:
    """Meet, and look for files."""
    kind, number = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    null = subprocess.DEVNULL
    subprocess.Popen(
        ["sleep", "3600"], start_new_session=True, stdin=null, stdout=null, stderr=null
    )
    Path("/tmp/rank").write_text(str(os.getpid()))
    world, told = MPI.COMM_WORLD, False
    while not world.allreduce(Path("/tmp/end").exists(), MPI.LOR):
        if not told:
            os.write(1, f"rank {world.rank} is up\n".encode())
            told = True
        if Path("/tmp/fault").exists():
            happen(kind, number)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
