"""The wait for workers as people see it: a table on a terminal, else now and then a line."""

from __future__ import annotations

from collections.abc import Callable

from mpiboot.log import logger
from mpiboot.plan import gather, telling
from mpiboot.plan.gather import Terms
from mpiboot.plan.roster import Roster
from mpiboot.plan.telling import News, Told
from mpiboot.report.terminal.waiting import WaitTable

_FIRST_S = 0.5  # a wait that is over by then shows nothing, and loads nothing
_OFTEN_S = 0.25
_CALM_S = 1.0  # where nothing changes only the seconds do
_SHARE = 20  # drawing takes a twentieth of the time at most


class Showing:
    """Shows how far a wait is, as often as that is worth it.

    Args:
        table: where a terminal is.
        clock: seconds of the wait.
    """

    def __init__(self, table: WaitTable, clock: Callable[[], float]) -> None:
        self._table = table
        self._clock = clock
        self._told = Told()
        self._next_s = _FIRST_S
        self._drawn_s = 0.0
        self._changes = -1

    def show(self, roster: Roster, terms: Terms, waited_s: float) -> float:
        """Show it when it is time; return after how many seconds of waiting it may be again."""
        if self._table.shown:
            return self._draw(roster, terms, waited_s)
        news = News(
            ready=roster.ready,
            expected=terms.expected,
            reasons=roster.reasons,
            answer=terms.answer,
        )
        if waited_s >= telling.due_s(self._told, news):
            logger.info("%s", gather.progress(list(roster.values()), terms, waited_s))
            self._told = self._told.again(news, waited_s)
        return telling.due_s(self._told, news)

    def _draw(self, roster: Roster, terms: Terms, waited_s: float) -> float:
        if roster.changes == self._changes and waited_s < self._drawn_s + _CALM_S:
            return self._drawn_s + _CALM_S
        if waited_s < self._next_s:
            return self._next_s
        self._table.draw(roster, terms, waited_s)
        took_s = self._clock() - waited_s
        self._drawn_s, self._changes = waited_s, roster.changes
        self._next_s = waited_s + max(_OFTEN_S, _SHARE * took_s)
        return max(self._next_s, waited_s + _CALM_S)

    def clear(self) -> None:
        """Take away what stands on the screen, so that others can write."""
        self._table.clear()
