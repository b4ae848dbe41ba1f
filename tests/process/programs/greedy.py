"""Rank 0 uses 300 MiB, the others wait."""

import os
import time

rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
time.sleep(0.5)
if rank == "0":
    held = bytearray(300 << 20)
    for at in range(0, len(held), 4096):
        held[at] = 1
time.sleep(60)
