"""Record signals from the first moment on; nothing else.

As PID 1 a process ignores each signal for which it has no handler, so a TERM that arrives while
Python still imports would be lost and the pod would be killed 30 s later. The entry script blocks
the signals across exec; here they get a handler first and are unblocked afterwards. Handlers
append and return: no log, no lock, no raise.
"""

from __future__ import annotations

import signal
from types import FrameType

# Faults of the process itself keep their default; PIPE is ours (EPIPE is handled where we write);
# CHLD has its own handler; KILL and STOP cannot be caught.
_NOT_OURS = {
    signal.SIGKILL,
    signal.SIGSTOP,
    signal.SIGCHLD,
    signal.SIGPIPE,
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGSEGV,
    signal.SIGSYS,
}
CAUGHT: tuple[int, ...] = tuple(sorted(int(s) for s in signal.valid_signals() - _NOT_OURS))

received: list[int] = []


def _record(number: int, _frame: FrameType | None) -> None:
    received.append(number)


def install() -> None:
    """Give every catchable signal a recording handler, then unblock them all.

    A signal that the parent set to be ignored (`nohup`, background jobs of a shell) stays ignored;
    SIGXFSZ is ignored by the interpreter itself, so that tells nothing.
    """
    for number in CAUGHT:
        if number == signal.SIGXFSZ or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _record)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, CAUGHT)


def release() -> int | None:
    """Give the signals their default meaning back; return the first one latched, if any."""
    for number in CAUGHT:
        if signal.getsignal(number) is _record:
            signal.signal(number, signal.SIG_DFL)
    return received[0] if received else None
