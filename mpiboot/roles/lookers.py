"""Who looks on at a job: nobody says that he has stopped, so it is who has asked a moment ago."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

LOOKED_S = 10.0  # who has asked within this time is taken to be still looking

T = TypeVar("T")


class Lookers(Generic[T]):
    """Connections by which a view was asked for; one that is gone is forgotten."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._asked_at: WeakKeyDictionary[T, float] = WeakKeyDictionary()

    def asked(self, one: T) -> None:
        """Take note that somebody has asked now."""
        self._asked_at[one] = self._clock()

    def still(self) -> list[T]:
        """List those who look on, as far as can be told."""
        now = self._clock()
        return [one for one, at in self._asked_at.items() if now - at < LOOKED_S]
