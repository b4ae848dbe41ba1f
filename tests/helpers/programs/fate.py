"""All ranks meet; then the last one ends as told, while the others wait for it in a barrier.

Usage: fate.py exit N | abort N | kill N | raise | finalize N | fine
"""

import os
import signal
import sys
import time

from mpi4py import MPI  # type: ignore[import-not-found]

world = MPI.COMM_WORLD
kind, number = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
os.write(1, f"rank {world.rank} of {world.size} on {os.uname().nodename}\n".encode())
world.Barrier()
time.sleep(0.5)  # what is written right before an abort may be lost on its way
rank, last = world.rank, world.size - 1
if rank == last:
    if kind == "exit":
        os._exit(number)
    if kind == "abort":
        world.Abort(number)
    if kind == "kill":
        signal.signal(number, signal.SIG_DFL) if number != 9 else None
        os.kill(os.getpid(), number)
    if kind == "raise":
        raise ValueError("this rank has had enough")
if kind == "finalize":
    MPI.Finalize()
    os._exit(number if rank == 0 else 0)
world.Barrier()
