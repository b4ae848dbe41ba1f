"""Use an MPI without mpi4py: LIBRARY HOW CODE; rank 1 ends so, the others wait to be ended.

`ok`: all finalize. `exit`: CODE without MPI_Finalize. `abort`: MPI_Abort(CODE). `signal`: die of it.
"""

import ctypes
import os
import sys
import time

WORLD_OF_MPICH = 0x44000000
WAIT_S = 20


def main() -> None:
    """End as told."""
    library, how, code = sys.argv[1], sys.argv[2], int(sys.argv[3])
    mpi = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    mpi.MPI_Init(None, None)
    try:
        world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
    except ValueError:
        world = ctypes.c_int(WORLD_OF_MPICH)  # type: ignore[assignment]
    rank, size = ctypes.c_int(), ctypes.c_int()
    mpi.MPI_Comm_rank(world, ctypes.byref(rank))
    mpi.MPI_Comm_size(world, ctypes.byref(size))
    mpi.MPI_Barrier(world)
    os.write(1, f"rank {rank.value} of {size.value}\n".encode())
    if how == "ok":
        mpi.MPI_Finalize()
        sys.exit(0)  # MPICH 5 tells hydra in an exit handler, so `_exit` is death to it
    if rank.value != 1:
        time.sleep(WAIT_S)
        os._exit(0)
    os.write(1, b"last words\n")
    if how == "abort":
        mpi.MPI_Abort(world, code)
    if how == "signal":
        os.kill(os.getpid(), code)
    os._exit(code)


if __name__ == "__main__":
    main()
