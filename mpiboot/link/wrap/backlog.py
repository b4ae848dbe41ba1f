"""Guess how much output mpirun has taken and not written yet.

mpirun 5 ends with its job and throws away what it has not written (5.0.11: up to 8 of 10 MB per rank).
"""

from __future__ import annotations

import time

_RATE = 20e6  # bytes per second of all ranks together, which a launcher reads without haste
_LONGEST_S = 2.0


class Backlog:
    """A bucket that leaks as fast as mpirun writes one rank's share.

    Args:
        size: how many ranks write.
    """

    def __init__(self, size: int) -> None:
        self._share = _RATE / max(1, size)
        self._bytes = 0.0
        self._at = time.monotonic()

    def add(self, count: int) -> None:
        """Count what has been sent just now."""
        now = time.monotonic()
        self._bytes = max(0.0, self._bytes - (now - self._at) * self._share) + count
        self._at = now

    @property
    def lasts_s(self) -> float:
        """How long mpirun will take to write it all, at most two seconds."""
        self.add(0)
        return min(_LONGEST_S, self._bytes / self._share)
