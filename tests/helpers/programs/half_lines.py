"""Write N lines to each of both streams, half by half: `<stream rank:number>[stream rank:number]`."""

import os
import sys
import time

rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
for number in range(int(sys.argv[1])):
    for fd, stream in ((1, "out"), (2, "err")):
        os.write(fd, f"<{stream} {rank}:{number}>".encode())
    time.sleep(0.002)  # each half goes its way alone
    for fd, stream in ((2, "err"), (1, "out")):
        os.write(fd, f"[{stream} {rank}:{number}]\n".encode())
