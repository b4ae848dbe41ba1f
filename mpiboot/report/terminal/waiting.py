"""The wait for workers on a terminal: a table that is drawn anew, and taken away at its end."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from mpiboot.log import logger
from mpiboot.plan.gather import Terms
from mpiboot.plan.roster import Roster
from mpiboot.report.terminal import screen

if TYPE_CHECKING:
    from mpiboot.report.terminal.region import Region


class WaitTable:
    """A table on stderr; nothing of it is loaded before it is drawn.

    Args:
        wanted: `on`, `off`, or `auto` for "when stderr is a terminal".
        env: the environment: TERM, NO_COLOR, LANG, COLUMNS, LINES.
        slots: the setting, a number or `auto`.
    """

    def __init__(self, wanted: str, env: Mapping[str, str], slots: str = "auto") -> None:
        self._env = env
        self._slots = slots
        self._region: Region | None = None
        self._handlers: list[tuple[logging.StreamHandler[TextIO], TextIO]] = []
        on = wanted == "on" and not screen.dumb(env)
        self.shown = on or (wanted == "auto" and screen.moves(sys.stderr, env))

    def draw(self, roster: Roster, terms: Terms, waited_s: float) -> None:
        """Draw how far it is: as many hosts as there is room for, those in trouble first."""
        from mpiboot.plan import awaited, layout  # noqa: PLC0415 - few waits are drawn
        from mpiboot.report.terminal import awaiting  # noqa: PLC0415 - loads rich

        columns, height = screen.size(sys.stderr, self._env)
        page = screen.page(sys.stderr, self._env, columns=columns - 1, height=height - 1)
        rows = awaited.worst_first(roster.values(), page.height)
        wait = awaiting.Wait(
            ready=roster.ready,
            expected=terms.expected,
            known=len(roster),
            waited_s=waited_s,
            deadline_s=terms.deadline_s,
            answer=terms.answer,
            rows=[
                awaiting.Awaited(seen=one, slots=layout.slots_of(one, self._slots)) for one in rows
            ],
        )
        laid_out = awaiting.lines(wait, page)
        region = self._region or self._begin()
        region.draw(screen.rendered(laid_out, sys.stderr, self._env, page))

    def _begin(self) -> Region:
        """Take the lower end of the screen; the agent's own log is written above it from now on."""
        from mpiboot.report.terminal.region import Above, Region  # noqa: PLC0415 - for few

        stream = sys.stderr
        self._region = Region(stream)
        above = Above(self._region)
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is stream:
                self._handlers.append((handler, stream))
                handler.setStream(above)
        return self._region

    def clear(self) -> None:
        """Take the table away, and give the log its stream back."""
        if self._region is None:
            return
        self._region.clear()
        for handler, stream in self._handlers:
            handler.setStream(stream)
        self._region, self._handlers = None, []
