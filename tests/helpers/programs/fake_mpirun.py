#!/usr/bin/python3
"""Answer --version as Open MPI 4.1.4 does; otherwise become the job's program, on this host.

For tests of what the launcher does with its child, not of what mpirun does: `--mpirun` names it.
With FAKE_MPIRUN_HANG in the environment `--version` never ends.
"""

import os
import signal
import sys

if "--version" in sys.argv:
    if "FAKE_MPIRUN_HANG" in os.environ:
        signal.pause()
    print("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/")  # noqa: T201
else:
    words = sys.argv[sys.argv.index("--") + 1 :]
    os.execvp(words[0], words)  # noqa: S606 - a list, no shell
