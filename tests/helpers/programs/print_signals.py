#!/usr/bin/python3
"""Print `ready`, then the name of every signal that comes; for TERM, INT, HUP and QUIT end with 0.

With `--stubborn` nothing but KILL ends it. Numbers stand for signals without a name.
"""

import os
import signal
import sys

ENDING = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
# SIGCHLD and the faults of the process itself are nobody's message.
SILENT = {
    signal.SIGKILL,
    signal.SIGSTOP,
    signal.SIGCHLD,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
}


def text(number: int) -> str:
    """Return the name of a signal as this program prints it."""
    known = {int(one): one.name for one in signal.Signals}
    return known.get(number, str(number))


def main() -> None:
    """Print until told to end."""
    numbers = signal.valid_signals() - SILENT
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    os.write(1, b"ready\n")
    while True:
        number = signal.sigwait(numbers)
        os.write(1, f"{text(number)}\n".encode())
        if number in ENDING and "--stubborn" not in sys.argv:
            return


if __name__ == "__main__":
    main()
