"""How many logins compute at once: as many as leave the loop time for the heartbeats of the others."""

from __future__ import annotations

_FIRST, _MORE = 8, 2
# The loop shares one interpreter with the logins: who is this late has too many beside it.
_ON_TIME_S, _LATE_S = 0.01, 0.03


class Width:
    """How many logins may run; it grows by steps and shrinks by halves.

    Args:
        least: as many may always run.
        most: no more ever do.

    Attributes:
        now: how many may run now.
    """

    def __init__(self, least: int, most: int) -> None:
        self._least = least
        self._most = most
        self.now = min(max(least, _FIRST), most)

    def looked(self, late_s: float) -> None:
        """Learn by how much a timer of the loop was late while as many ran as may."""
        if late_s > _LATE_S:
            self.now = max(self._least, self.now // 2)
        elif late_s < _ON_TIME_S:
            self.now = min(self._most, self.now + _MORE)
