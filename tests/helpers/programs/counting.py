"""Count to a number in steps, together; on TERM save where we are, and go on from there.

Usage: counting.py DIRECTORY LAST. Each rank keeps its own file; a file `hurry` ends the counting.
"""

import os
import signal
import sys
import time
from pathlib import Path

from mpi4py import MPI  # type: ignore[import-not-found]

world = MPI.COMM_WORLD
directory, last = Path(sys.argv[1]), int(sys.argv[2])
saved = directory / f"rank.{world.rank}"
asked: list[int] = []
signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))
step = int(saved.read_text()) if saved.exists() else 0
os.write(1, f"rank {world.rank} begins at {step}\n".encode())
while step < last:
    step += 1
    stop, hurry = world.allreduce(len(asked)), world.allreduce((directory / "hurry").exists())
    if stop:
        saved.write_text(str(step))
        os.write(1, f"rank {world.rank} has saved {step}\n".encode())
        world.Barrier()
        sys.exit(0)
    if hurry:
        break
    time.sleep(0.05)
os.write(1, f"rank {world.rank} is done\n".encode())
