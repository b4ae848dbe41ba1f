"""Find out what became of a worker whose lease was lost."""

from __future__ import annotations

import asyncio

from mpiboot.link.client import Lease
from mpiboot.plan import loss
from mpiboot.plan.loss import How, Knock, Loss
from mpiboot.runtime.within import within

_KNOCK_S = 1.5


async def explain(lease: Lease, why: str, how: How, silent_s: float) -> Loss:
    """Tell what became of the worker; takes 1.5 s at most.

    Args:
        lease: it is lost already.
        why: as our end of it noticed, in words.
        how: the same as a kind.
        silent_s: for how long it may be silent.
    """
    knock = Knock.NOTHING
    if how is How.CLOSED and not lease.notice:
        knock = await _knock(*lease.peer)
    return loss.explain(how, why, knock, lease.memory, lease.notice, silent_s=silent_s)


async def _knock(address: str, port: int) -> Knock:
    """Connect once; a port that accepts belongs to a container that lives."""
    try:
        reader, writer = await within(_KNOCK_S, asyncio.open_connection(address, port))
    except ConnectionRefusedError:
        return Knock.REFUSED
    except (OSError, asyncio.TimeoutError):
        return Knock.NOTHING
    try:
        banner = await within(_KNOCK_S, reader.readline())
    except (OSError, ValueError, asyncio.TimeoutError):
        banner = b""
    writer.close()
    return Knock.ACCEPTED if banner.startswith(b"SSH-") else Knock.NOTHING
