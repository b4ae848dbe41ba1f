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
    print("saved", number, flush=True)  # noqa: T201 - its output is the test
    os._exit(0)


for one in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(one, save)
print("up", flush=True)  # noqa: T201 - its output is the test
while True:
    time.sleep(1)
