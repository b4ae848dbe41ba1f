"""Tell of a rank that was killed whether it was for want of memory."""

from __future__ import annotations

import signal

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.model.memory import Memory
from mpiboot.runtime import memory

_KILLED = 128 + signal.SIGKILL  # what a shell ends with whose child was


class Oom:
    """The OOM kills of this container, each of which explains the end of one rank.

    A rank that the MPI kills afterwards is not one of them: the kernel counts before it kills.
    """

    def __init__(self) -> None:
        self._running: set[object] = set()
        self._before = Memory()
        self._explained = 0

    def mark(self, report: Message) -> Message:
        """Return a rank's report, with the facts added where it was OOM-killed."""
        rank, event = report.body.get("rank"), report.body.get("event")
        if event == "started":
            if not self._running:
                self._before, self._explained = memory.counters(), 0
            self._running.add(rank)
        if event != "ended":
            return report
        self._running.discard(rank)
        killed = report.body.get("signal") == signal.SIGKILL or report.body.get("code") == _KILLED
        return self._marked(report) if killed else report

    def _marked(self, report: Message) -> Message:
        now = memory.counters()
        if (now.oom_kills or 0) <= (self._before.oom_kills or 0) + self._explained:
            return report
        self._explained += 1
        facts = {"limit": now.limit_bytes, "peak": now.peak_bytes}
        known = {key: value for key, value in facts.items() if value is not None}
        return messages.rank_message({**report.body, "oom": True, **known})
