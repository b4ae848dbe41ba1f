"""Try whether a process may read the memory of a sibling, as ranks on one host do to save copies."""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False  # the facts are waited for, and `typing` takes longer than the trial
if TYPE_CHECKING:
    import ctypes

_PR_SET_PTRACER = 0x59616D61  # <linux/prctl.h>
_SIZE = 8


def may_read() -> bool | None:
    """Let one child read another's memory with process_vm_readv.

    Call it where there is one thread only. A sandbox may forbid the call, or kill who tries.

    Returns:
        whether it works; None when it could not be tried.
    """
    import ctypes  # noqa: PLC0415 - only the short-lived process that tries it needs it

    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "process_vm_readv"):
        return None
    memory = ctypes.create_string_buffer(_SIZE)
    try:
        return _try(libc, memory)
    except OSError:
        return None


def _try(libc: ctypes.CDLL, memory: ctypes.Array[ctypes.c_char]) -> bool:
    with contextlib.ExitStack() as stack:
        pipes = [os.pipe() for _ in range(2)]
        for fd in (*pipes[0], *pipes[1]):
            stack.callback(_close, fd)
        (ready, tell_ready), (wait, over) = pipes
        target = os.fork()
        if target == 0:
            os.close(over)
            _hold(libc, memory, tell_ready, wait)
        stack.callback(os.waitpid, target, 0)
        stack.callback(_close, over)  # this is what the target waits for
        os.close(tell_ready)
        os.read(ready, 1)
        reader = os.fork()
        if reader == 0:
            os._exit(0 if _read(libc, memory, target) else 1)
        return os.waitpid(reader, 0)[1] == 0


def _close(fd: int) -> None:
    with contextlib.suppress(OSError):
        os.close(fd)


def _hold(
    libc: ctypes.CDLL, memory: ctypes.Array[ctypes.c_char], tell_ready: int, wait: int
) -> None:
    """Be the one who is read, until the pipe is closed."""
    # Where Yama lets only ancestors look, MPI libraries ask for this exception, too.
    import ctypes  # noqa: PLC0415 - as above

    libc.prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
    memory.value = b"sibling"
    os.write(tell_ready, b"1")
    os.read(wait, 1)
    os._exit(0)


def _read(libc: ctypes.CDLL, memory: ctypes.Array[ctypes.c_char], target: int) -> bool:
    """Read the target's memory; what has the same address here is still empty."""
    import ctypes  # noqa: PLC0415 - as above

    class Piece(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))

    got = ctypes.create_string_buffer(_SIZE)
    here, there = (Piece(ctypes.addressof(one), _SIZE) for one in (got, memory))
    count = libc.process_vm_readv(
        target, ctypes.byref(here), ctypes.c_ulong(1), ctypes.byref(there), ctypes.c_ulong(1),
        ctypes.c_ulong(0),
    )  # fmt: skip
    return bool(count == _SIZE and got.value == b"sibling")
