"""Bring latched signals into asyncio's loop, through the wakeup descriptor."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from types import FrameType

from mpiboot.runtime import latch


def _note_child(_number: int, _frame: FrameType | None) -> None:
    """Exist, so that the kernel wakes the loop; the work is done there."""


class SignalPump:
    """Deliver each recorded signal to a callback, inside the loop and in order.

    Signals latched before the pump started are delivered first. `on_child` is called whenever
    something may have died.
    """

    def __init__(self, on_signal: Callable[[int], None], on_child: Callable[[], None]) -> None:
        self._on_signal = on_signal
        self._on_child = on_child
        self._reader, self._writer = socket.socketpair()

    def start(self) -> None:
        """Begin; call from inside the running loop."""
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _note_child)
        # A child's death must not interrupt system calls of other threads.
        signal.siginterrupt(signal.SIGCHLD, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._reader.fileno(), self._drain)
        loop.call_soon(self._drain)

    def stop(self) -> None:
        """End; signals are recorded still, but nobody is told."""
        signal.set_wakeup_fd(-1)
        asyncio.get_running_loop().remove_reader(self._reader.fileno())
        self._reader.close()
        self._writer.close()

    def _drain(self) -> None:
        """Deliver what was recorded, and only then see who has died: a signal is waited for.

        One read takes all that usually lies there; for more, the loop calls again. A child that has
        died meanwhile is not reaped yet, so no signal can reach another process by its number.
        """
        with contextlib.suppress(BlockingIOError):
            self._reader.recv(4096)
        try:
            while latch.received:
                self._on_signal(latch.received.pop(0))
        finally:
            self._on_child()
