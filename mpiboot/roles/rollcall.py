"""Ask every worker at the end what it has seen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from mpiboot.link import messages
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.model.settings import Settings
from mpiboot.plan.evidence import Lost, Testimony
from mpiboot.plan.ranks import Ranks
from mpiboot.roles.launcher_view import Counts
from mpiboot.roles.spreading import spread
from mpiboot.runtime.within import came

_ANSWER_S = 2.0


class RollCall:
    """The testimony of the workers.

    Attributes:
        testimony: of those who have answered, by host.

    Args:
        settings: what the user chose.
        counts: gets what is counted.
        news: is set when an answer comes; whoever loses a worker sets it, too.
    """

    def __init__(self, settings: Settings, counts: Counts, news: asyncio.Event) -> None:
        self._settings = settings
        self._counts = counts
        self._news = news
        self.testimony: dict[str, Testimony] = {}

    def hear(self, host: str, message: Message) -> None:
        """Take a worker's answer, the first one."""
        if host in self.testimony:
            return
        self.testimony[host] = messages.read_testimony(message)
        self._counts.testified(host, self.testimony[host])
        self._news.set()

    async def call(
        self, leases: Mapping[str, Lease], lost: Mapping[str, Lost], ranks: Ranks, *, success: bool
    ) -> None:
        """Ask, and wait for the answers; what a worker's ranks reported comes before its own.

        Args:
            leases: of those who take part, by host.
            lost: grows while we wait.
            ranks: what is known of them.
            success: whether all else says that the job has succeeded.
        """
        asked = {name: one for name, one in leases.items() if not one.plain}
        async for lease in spread(list(asked.values())):
            lease.send(Message(kind=messages.WITNESS))
        loop = asyncio.get_running_loop()
        begun = loop.time()
        silent = {*asked}
        while silent := self._still_silent(silent, lost):
            patience_s = self._patience_s(silent, ranks) if success else _ANSWER_S
            left = begun + patience_s - loop.time()
            if left <= 0:
                return
            self._news.clear()
            await came(self._news, left)

    def _still_silent(self, silent: set[str], lost: Mapping[str, Lost]) -> set[str]:
        return {name for name in silent if name not in self.testimony and name not in lost}

    def _patience_s(self, silent: set[str], ranks: Ranks) -> float:
        """Return how long to wait for these workers: a success that hangs on them, until they are lost."""
        if ranks.np and silent <= set(ranks.started.values()):
            return _ANSWER_S
        return self._settings.lease_timeout_s + 2 * self._settings.heartbeat_s
