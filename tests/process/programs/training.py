"""Compute and tell of it on stderr until a file is there; then end well, or fail as one rank.

The file is `stop`, in the working directory; NAN_AT names the rank that fails, and FIRST what it says
before anything else.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

STEPS = 12


def step(number: int, *, fails: bool = False) -> None:
    loss = 1.6 / (number + 1)
    if fails:
        raise ValueError(f"loss is nan at step {number}")
    if number < STEPS:
        sys.stderr.write(f"step {number}: loss {loss:.4f}\n")
        time.sleep(0.02)


def main() -> None:
    rank, failing = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ.get("NAN_AT", "-1"))
    if rank == failing:
        sys.stderr.write(os.environ.get("FIRST", "begun") + "\n")
    number = 0
    while not Path("stop").exists():
        step(number)
        number += 1
    step(number, fails=rank == failing)
    while failing not in (-1, rank):
        time.sleep(1)


main()
