"""Signal the ranks of this container, as the launcher orders it."""

from __future__ import annotations

import signal

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.mpi import DIALECTS
from mpiboot.runtime import processes

DAEMONS = frozenset(name for dialect in DIALECTS for name in dialect.DAEMONS)
_ALLOWED = frozenset((signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2))


def obey(message: Message) -> None:
    """Act on an order: a signal for all ranks here."""
    number = messages.number(message.body, "number", 64)
    if number not in _ALLOWED:
        return
    ranks = started_by_daemons()
    logger.info("%s for %s ranks", signal.Signals(number).name, len(ranks))
    processes.send_groups(ranks, number)


def started_by_daemons() -> list[int]:
    """List the processes that MPI daemons here have started: the ranks."""
    table = processes.parents()
    daemons = {pid for pid in table if processes.name(pid) in DAEMONS}
    return [pid for pid, parent in table.items() if parent in daemons and pid not in daemons]
