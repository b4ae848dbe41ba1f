"""Write N lines of SIZE characters, each in 20 flushed pieces: `rank:number:` and the rank's digit."""

import os
import sys

count, size = int(sys.argv[1]), int(sys.argv[2])
rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
for number in range(count):
    line = f"{rank}:{number:04d}:".ljust(size, rank) + "\n"
    step = -(-len(line) // 20)
    for start in range(0, len(line), step):
        os.write(1, line[start : start + step].encode())
