"""Send a token around all ranks again and again; say `up` after the first round."""

import os
import select

from mpi4py import MPI  # type: ignore[import-not-found]

world = MPI.COMM_WORLD
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
assert world.sendrecv(world.rank, dest=right, source=left) == left
os.write(1, b"up\n")
while True:
    # Between two rounds nothing is to be done; MPI itself waits by spinning.
    select.select([], [], [], 0.05)
    world.sendrecv(world.rank, dest=right, source=left)
