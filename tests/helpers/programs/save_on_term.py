"""Say `up`, wait for a signal, save for as long as argument RANK says, say `saved`, end with 0."""

import os
import signal
import sys
import time

rank = next(
    int(os.environ[name])
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
    if name in os.environ
)


def save(number: int, _frame: object) -> None:
    time.sleep(float(sys.argv[1 + rank]))
    os._exit(0)


for one in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(one, save)
while True:
    time.sleep(1)
