"""A worker's connection as the launcher reads it: quick to acknowledge, bounded in what it takes."""

from __future__ import annotations

import contextlib
import errno
import math
import socket
import time

from mpiboot.plan.flood import Allowance

FLOODS = "it floods the launcher"
# paramiko keeps whatever arrives until somebody takes it, a packet of 4 GiB and a banner without an
# end, too. A thousand ranks that fail at once report 5 MB.
_BURST_BYTES, _BYTES_PER_S = 32 << 20, 4 << 20
_LOGIN_BYTES = 512 << 10  # a login takes some 10 kB, and facts are a message
_MOST_AT_ONCE = 256 << 10  # paramiko asks for a whole packet, which may have 35,000 bytes


class Prompt(socket.socket):
    """A socket that acknowledges at once what it has received, and gives a flood up.

    sshd writes twice before it reads again, with Nagle's algorithm on: it would wait 40 ms for an
    acknowledgement that the kernel delays, once or twice in each login.

    Attributes:
        flooded: whether more came than any worker has to say.

    Args:
        fileno: of a connected socket, which becomes ours.
        until: when the login has to be through, on the monotonic clock.
    """

    def __init__(self, fileno: int, until: float) -> None:
        super().__init__(fileno=fileno)
        self.flooded = False
        self._until = until
        self._allowance = Allowance(_LOGIN_BYTES, 0)

    def through(self) -> None:
        """Take as much from now on as a worker with many ranks has to say."""
        self._until = math.inf
        self._allowance = Allowance(_BURST_BYTES, _BYTES_PER_S)

    def passed_on(self, count: int) -> None:
        """Allow so many bytes more: somebody had asked for what has come."""
        self._allowance.give(count)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive.

        Raises:
            OSError: too much has come, or a login takes no end.
        """
        data = super().recv(size, flags) if size <= _MOST_AT_ONCE else b""
        now = time.monotonic()
        if size > _MOST_AT_ONCE or now > self._until or not self._allowance.take(len(data), now):
            self.flooded = True
        if self.flooded:
            raise ConnectionAbortedError(errno.ECONNABORTED, FLOODS)  # paramiko wants both
        with contextlib.suppress(OSError):  # the kernel forgets it again with the next packet sent
            self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return data
