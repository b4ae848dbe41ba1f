"""How much a peer may say: a burst at once, and a rate that lasts."""

from __future__ import annotations


class Allowance:
    """An amount that fills up with time.

    Args:
        burst: how much may come at once.
        per_s: how much of it comes back in a second.
    """

    def __init__(self, burst: float, per_s: float) -> None:
        self._burst = burst
        self._per_s = per_s
        self._left = burst
        self._at: float | None = None

    def give(self, amount: float) -> None:
        """Give back what was taken, and has proved to be none of this."""
        self._left = min(self._burst, self._left + amount)

    def take(self, amount: float, now: float) -> bool:
        """Take an amount; tell whether it was allowed. What is refused is taken, too.

        Args:
            amount: what has come.
            now: seconds on a clock that never goes back.
        """
        passed_s = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        self._left = min(self._burst, self._left + passed_s * self._per_s) - amount
        if self._left >= 0:
            return True
        self._left = max(self._left, -self._burst)  # who falls silent is heard again
        return False
