"""Notice that the MPI daemon above the ranks of this container is gone, though mpirun may not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.model.fields import whole
from mpiboot.plan.daemons import Orphans
from mpiboot.runtime import processes

# Hydra's mpiexec waits for ever for a proxy that was killed; a rank that spins costs more than a look.
_LOOK_S = 1.0


class OrphanWatch:
    """Looks once a second, as long as ranks run here.

    Args:
        tell: sends a message to the launchers.
    """

    def __init__(self, tell: Callable[[Message], None]) -> None:
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._ranks: dict[int, int] = {}
        self._seen = Orphans()
        self._next: asyncio.TimerHandle | None = None

    def hear(self, message: Message) -> None:
        """Take what a rank reports of itself."""
        rank = whole(message.body, "rank", 1 << 31)
        pid = whole(message.body, "pid", 1 << 31)
        if rank is None:
            return
        if message.text("event") == "started" and pid:
            self._ranks[rank] = pid
            self._seen = Orphans()
            if self._next is None:
                self._next = self._loop.call_later(_LOOK_S, self._look)
        elif message.text("event") == "ended":
            self._ranks.pop(rank, None)

    def _look(self) -> None:
        self._next = None
        parents = processes.parents()
        self._ranks = {rank: pid for rank, pid in self._ranks.items() if pid in parents}
        self._seen = self._seen.look(self._ranks.values(), parents, os.getpid())
        if self._seen.certain:
            logger.error("the MPI daemon of the ranks here died; the launcher is told")
            self._tell(Message(kind=messages.NOTICE, body={"event": messages.DAEMON}))
        elif self._ranks:
            self._next = self._loop.call_later(_LOOK_S, self._look)
