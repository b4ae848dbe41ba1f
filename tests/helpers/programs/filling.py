"""Rank 0 fills its memory cgroup to 95 % and stays so, then goes on until it is killed; others wait.

Arguments: the file that tells the cgroup's use, its limit in bytes, how long to stay in seconds.
"""

import os
import sys
import time
from pathlib import Path

_MIB = 1 << 20
use, limit, stay_s = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
if os.environ["OMPI_COMM_WORLD_RANK"] == "0":
    held = []
    while int(use.read_text()) < 0.95 * limit:
        held.append(b"x" * _MIB)
    time.sleep(stay_s)
    while True:
        held.append(b"x" * _MIB)
time.sleep(1000)
