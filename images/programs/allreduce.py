# ruff: noqa: INP001, T201 - a program, not a package; it prints
"""Sum a vector over all ranks, check every element, and show where each rank ran."""

import socket
import sys
from array import array

from mpi4py import MPI

LENGTH = 100_000

world = MPI.COMM_WORLD
mine = array("d", (float(world.rank + 1),)) * LENGTH
total = array("d", (0.0,)) * LENGTH
world.Allreduce([mine, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)

expected = world.size * (world.size + 1) / 2
right = all(value == expected for value in total)
ranks = world.gather((socket.gethostname(), right))

if ranks is not None:  # on rank 0 alone
    for rank, (host, ok) in enumerate(ranks):
        print(f"rank {rank} of {world.size} on {host}: {'right' if ok else 'WRONG'}")
    hosts = len({host for host, _ in ranks})
    print(f"allreduce: sum={total[0]:g} expected={expected:g} ranks={world.size} hosts={hosts}")
sys.exit(0 if right else 1)
