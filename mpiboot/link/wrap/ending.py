"""End as the program ended, in the way that the process manager understands."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # half of `signal`, without its enums
import os

from mpiboot.link.wrap.pipe import Pipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_READ_S = 1.0


def read(status: int) -> tuple[int, int]:
    """Return exit code and signal of a wait status; the code is 128 + n for signal n, else that is 0."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status), os.WTERMSIG(status)
    return os.WEXITSTATUS(status), 0


def end(code: int, number: int, pmi: bytes) -> NoReturn:
    """Leave this process.

    Hydra waits for the others when a rank ends without MPI_Finalize, ORs all exit codes and loses
    signals. Asked by PMI to abort, it ends the job at once and with this code.

    Args:
        code: 0 to 255.
        number: the signal by which the program died; 0 for none.
        pmi: number of the descriptor of a hydra's PMI; empty for other process managers.
    """
    if pmi and code:
        for fd in (1, 2):  # mpiexec will not look for what is still on the way
            Pipe(fd).drain(_READ_S)
        _abort(pmi, code)
    elif number and not pmi:
        _die(number)
    os._exit(code)


def _abort(pmi: bytes, code: int) -> None:
    try:
        os.write(int(pmi), b"cmd=abort exitcode=%d\n" % code)
    except (OSError, ValueError):
        pass


def _die(number: int) -> None:
    """Die by the same signal, but leave the core file to the program."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (_signal.SIGKILL, _signal.SIGSTOP):
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
