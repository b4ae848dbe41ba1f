"""Rank 1 sleeps for ever, all others wait for it in a barrier."""

import os
import time

from mpi4py import MPI  # type: ignore[import-not-found]

world = MPI.COMM_WORLD
world.Barrier()
os.write(1, b"up\n")
if world.rank == 1:
    time.sleep(3600)
world.Barrier()
