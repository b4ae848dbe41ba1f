"""The deadline of the whole job, which stands still while nobody wants the job to run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Deadline:
    """A clock that can be held.

    Args:
        seconds: until it expires; 0: never.
        expire: is called then.
    """

    def __init__(self, seconds: float, expire: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._left_s = seconds
        self._expire = expire
        self._timer: asyncio.TimerHandle | None = None
        self._endless = not seconds

    def go(self) -> None:
        """Let it run."""
        if self._timer is None and not self._endless:
            self._timer = self._loop.call_later(max(0.0, self._left_s), self._expire)

    def hold(self) -> None:
        """Let it stand still."""
        if self._timer is not None:
            self._left_s = self._timer.when() - self._loop.time()
            self._timer.cancel()
            self._timer = None
