"""On SIGTERM each rank saves its work, rank 0 much quicker than others; then it ends.

`finalize`: with MPI_Finalize. `at-once`: without.
"""

import os
import signal
import sys
import time

from mpi4py import MPI  # type: ignore[import-not-found]

world = MPI.COMM_WORLD


def save(_number: int, _frame: object) -> None:
    """Save, and end."""
    os.write(1, b"warned\n")
    time.sleep(0.5 if world.rank == 0 else 3)
    os.write(1, b"saved\n")
    os._exit(0) if sys.argv[1] == "at-once" else sys.exit(0)


signal.signal(signal.SIGTERM, save)
world.Barrier()
os.write(1, b"up\n")
while True:
    time.sleep(0.1)
