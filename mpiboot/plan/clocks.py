"""What another machine's clock shows against ours, judged by when messages were sent and came."""

from __future__ import annotations

from collections import deque

_KEPT = 64  # a few minutes of heartbeats: clocks drift less in that time than messages are late
# The message that was least late was not later than this, while the other side has told nothing.
_LATE_S = 5.0


class Clock:
    """The clock at the other end of a lease.

    No message comes before it was sent: those in each direction bound how far the clock is off.
    Clocks that may be the same by those bounds are taken for the same, however late a busy machine
    or network has made the messages; others are as near as can be.
    """

    def __init__(self) -> None:
        self._late: deque[float] = deque(maxlen=_KEPT)
        self._told: float | None = None

    def hear(self, sent_s: float, came_s: float) -> None:
        """Take note of a message.

        Args:
            sent_s: when it was sent, by the other clock, seconds since the epoch.
            came_s: when it came, by ours.
        """
        self._late.append(came_s - sent_s)

    def tell(self, least_s: float) -> None:
        """Take note of what the other side has found as `least` of our messages."""
        self._told = least_s

    @property
    def least(self) -> float | None:
        """The least lateness of a message, as both clocks show it; None: there was none."""
        return min(self._late, default=None)

    def ours(self, sent_s: float, came_s: float) -> float:
        """Return when a message was sent by our clock; never later than it came."""
        least_ahead = -min((*self._late, came_s - sent_s))
        most_ahead = least_ahead + _LATE_S if self._told is None else self._told
        ahead = max(least_ahead, min(0.0, most_ahead))
        return sent_s - ahead
