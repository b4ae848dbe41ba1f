"""Write what logs have to cope with: bars, a prompt, long lines, bytes that are no text, much of it.

A rank's prompt waits until all ranks have shown theirs (in a directory that they share), and its
answer until the file `go` is there.
"""

import os
import sys
import time
from pathlib import Path

rank = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"])
place, ranks, lines = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])


def write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def until(name: str, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(list(place.glob(name))) < count:
        if time.monotonic() > deadline:
            sys.exit(f"no {count} of {name}")
        time.sleep(0.01)


for percent in range(0, 100, 25):
    write(2, b"\r%d: %d%%" % (rank, percent))
    time.sleep(0.12)
(place / f"bar.{rank}").touch()
until("bar.*", ranks)
write(2, b"\r%d: done\n" % rank)
write(1, b"%d: bytes \xff\xfe\n" % rank)
write(1, b"%d: %s\n" % (rank, f"ü{rank}".encode() * 10_000))
for number in range(lines):
    write(1, b"%d: %06d %s\n" % (rank, number, b"-" * 100))
write(1, b"%d: name? " % rank)
until("go", 1)
write(1, b"me\n%d: half" % rank)
