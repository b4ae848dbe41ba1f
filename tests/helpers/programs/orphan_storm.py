#!/usr/bin/python3
"""Make orphans, that is, children whose parent has ended, and end when told or when all are made.

orphan_storm.py COUNT MOST_MS: each orphan lives for up to MOST_MS milliseconds.
"""

import os
import random
import select
import sys


def main(count: int, most_ms: float) -> None:
    """Fork parents that fork an orphan and end at once."""
    for _ in range(count):
        parent = os.fork()
        if parent == 0:
            if os.fork() == 0:
                select.select([], [], [], random.uniform(0, most_ms / 1000))
            os._exit(0)
        os.waitpid(parent, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
