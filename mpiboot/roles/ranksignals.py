"""Signal the ranks of this container, as the launcher orders it, and keep those that end early."""

from __future__ import annotations

import signal
import time

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.server import Lease, LinkServer
from mpiboot.log import logger
from mpiboot.model.fields import whole
from mpiboot.mpi import DIALECTS
from mpiboot.runtime import processes

DAEMONS = frozenset(name for dialect in DIALECTS for name in dialect.DAEMONS)
_ALLOWED = frozenset((signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2))
_LONGEST_MS = 3_600_000


def obey(link: LinkServer, message: Message) -> int | None:
    """Act on an order: a signal for all ranks here, or that those that have ended may go.

    Args:
        link: where the ranks' wrappers are connected.
        message: the order.

    Returns:
        how many ranks got the signal; None where the order was another one.
    """
    if message.body.get("go") is True:
        release(link)
        return None
    number = whole(message.body, "number", 64)
    if number not in _ALLOWED:
        return None
    hold_ms = whole(message.body, "hold_ms", _LONGEST_MS)
    return warn(link, number, (hold_ms or 0) / 1000)


def warn(link: LinkServer, number: int, hold_s: float) -> int:
    """Signal each rank here as its mpirun would, after telling its wrapper to stay.

    A rank's process ends with its wrapper, and mpirun ends the others then: those that have saved
    their work wait for those that have not.

    Args:
        link: where the wrappers are connected.
        number: the signal.
        hold_s: how long a wrapper stays at most, counted from now.

    Returns:
        how many ranks there are.
    """
    # The wrapper may read this only at its program's end; the monotonic clock is the machine's.
    until_ms = int((time.monotonic() + hold_s) * 1000)
    order = Message(kind=messages.RANK, body={"event": "hold", "until_ms": until_ms})

    def late(wrapper: Lease) -> None:  # a rank that was just being started has not heard of it
        _tell_first(wrapper, order)
        processes.send_groups([wrapper.pid], number)

    link.on_wrapper = late
    for wrapper in link.wrappers:
        _tell_first(wrapper, order)
    # A wrapper leads the group that its MPI has made for the rank; with an mpirun of this very
    # container no daemon is its parent.
    wrapped = [one.pid for one in link.wrappers if one.rank is not None and one.pid > 1]
    ranks = list(dict.fromkeys([*wrapped, *started_by_daemons()]))
    logger.info("%s for the ranks here: %s", signal.Signals(number).name, len(ranks))
    processes.send_groups(ranks, number)
    return len(ranks)


def _tell_first(wrapper: Lease, order: Message) -> None:
    """Send an order before the signal that it is about."""
    wrapper.send(order)
    wrapper.flush()


def release(link: LinkServer) -> None:
    """Let the wrappers of ranks that have ended go."""
    link.on_wrapper = lambda _wrapper: None
    for wrapper in link.wrappers:
        wrapper.send(Message(kind=messages.RANK, body={"event": "go"}))


def started_by_daemons() -> list[int]:
    """List the processes that MPI daemons of ours have started: the ranks."""
    table = processes.parents()
    ours = processes.others()  # where we are not PID 1, other jobs may run beside us
    daemons = {pid for pid in ours if processes.name(pid) in DAEMONS}
    return [pid for pid in ours if table.get(pid) in daemons and pid not in daemons]
