"""mpiboot: one agent, PID 1 in every container of an MPI job."""

__version__ = "0.1.0"
