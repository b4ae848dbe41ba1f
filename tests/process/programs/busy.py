"""All ranks compute for 12 seconds and say nothing."""

import time

from mpi4py import MPI  # type: ignore[import-not-found]

MPI.COMM_WORLD.Barrier()
end = time.monotonic() + 12
while time.monotonic() < end:
    pass
