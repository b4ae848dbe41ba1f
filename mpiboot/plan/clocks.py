"""What another machine's clock shows against ours, judged by when its messages were sent and came."""

from __future__ import annotations

from collections import deque

_KEPT = 64  # a few minutes of heartbeats: clocks drift less in that time than messages are late


class Clock:
    """The clock at the other end of a lease.

    The message that was least late tells best how far it is off. What is late by a busy machine or
    network is then put where it belongs, however late it is.
    """

    def __init__(self) -> None:
        self._late: deque[float] = deque(maxlen=_KEPT)

    def hear(self, sent_s: float, came_s: float) -> None:
        """Take note of a message.

        Args:
            sent_s: when it was sent, by the other clock, seconds since the epoch.
            came_s: when it came, by ours.
        """
        self._late.append(came_s - sent_s)

    def ours(self, sent_s: float, came_s: float) -> float:
        """Return when a message was sent by our clock; never later than it came."""
        return sent_s + min((*self._late, came_s - sent_s))


def same() -> Clock:
    """Return this machine's own clock."""
    made = Clock()
    made.hear(0.0, 0.0)
    return made
