"""Write to a pipe so that its reader takes each piece as one.

MPI's daemons read 4 KiB or more at a time and pass on what they got in one go. A piece that begins
in an empty pipe, and is no longer than that, is neither split on the way nor mixed with another
rank's.
"""

from __future__ import annotations

import fcntl
import os
import select
import stat
import time

LARGEST = 4096  # PIPE_BUF, and the smallest chunk that a daemon reads

_SIOCOUTQ = 0x5411
_FIONREAD = 0x541B
_LOOK_S = 0.0002


class Pipe:
    """The writing end of a pipe to a daemon; anything else is written to as it is.

    Args:
        fd: descriptor; it stays open.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._unread = _question(fd)
        self._narrow = False

    def narrow(self) -> None:
        """Make the pipe no larger than one piece: then the kernel itself waits for the reader."""
        try:
            size = fcntl.fcntl(self._fd, fcntl.F_SETPIPE_SZ, LARGEST)
        except OSError:
            return  # no pipe, or not an empty one
        self._narrow = size <= LARGEST

    def write(self, piece: bytes) -> None:
        """Write a piece of at most LARGEST bytes; wait as long as the reader takes.

        Raises:
            OSError: nobody reads any more.
        """
        if not self._narrow:
            self.drain(float("inf"))
        while piece:
            try:
                piece = piece[os.write(self._fd, piece) :]
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._fd, select.POLLOUT)
                poll.poll()

    def drain(self, timeout_s: float) -> None:
        """Wait until the reader has taken all, or the time is over."""
        deadline = time.monotonic() + timeout_s
        try:
            while self._unread and time.monotonic() < deadline:
                if not any(fcntl.ioctl(self._fd, self._unread, bytes(4))):
                    return
                time.sleep(_LOOK_S)
        except OSError:
            return  # no such question here


def _question(fd: int) -> int:
    """Return the ioctl that asks how much the reader has not taken yet; 0 where there is none."""
    try:
        kind = os.fstat(fd).st_mode
    except OSError:
        return 0
    if stat.S_ISFIFO(kind):
        return _FIONREAD
    return _SIOCOUTQ if stat.S_ISSOCK(kind) else 0
