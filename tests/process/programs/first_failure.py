"""Rank 2 fails at once and says why; a second later all others fail, and say much."""

import os
import sys
import time

rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
if rank == "2":
    os.write(2, b"boom-42\n")
    sys.exit(3)
time.sleep(1)
for number in range(200):
    os.write(2, f"noise {number} of rank {rank}\n".encode())
sys.exit(1)
