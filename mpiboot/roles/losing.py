"""Find out what became of a worker whose lease was lost."""

from __future__ import annotations

import asyncio
import errno
import socket

from mpiboot.link.client import Lease
from mpiboot.plan import loss
from mpiboot.plan.loss import How, Knock, Loss
from mpiboot.runtime.within import within

_KNOCK_S = 1.5
# A container that dies refuses connections before it is gone, and an sshd that died comes back.
_REFUSED_S = 3.0
_AGAIN_S = 0.2


async def explain(lease: Lease, why: str, how: How, silent_s: float) -> Loss:
    """Tell what became of the worker; takes 4.5 s at most, and mostly none.

    Args:
        lease: it is lost already.
        why: as our end of it noticed, in words.
        how: the same as a kind.
        silent_s: for how long it may be silent.
    """
    knock = Knock.NOTHING
    if not _routed(*lease.peer):
        knock = Knock.NO_ROUTE
    elif how is How.CLOSED and not lease.notice:
        knock = await _knock_again(*lease.peer)
    return loss.explain(how, why, knock, lease.memory, lease.notice, silent_s=silent_s)


def _routed(address: str, port: int) -> bool:
    """Tell whether this container has a way to an address at all; sends nothing."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, port))
        except OSError as fault:
            return fault.errno not in (errno.ENETUNREACH, errno.ENETDOWN)
    return True


async def _knock_again(address: str, port: int) -> Knock:
    """Knock as long as that is refused, for a while; the last answer is the one that counts."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + _REFUSED_S
    while True:
        answer = await _knock(address, port)
        if answer is not Knock.REFUSED or clock() >= deadline:
            return answer
        await asyncio.sleep(_AGAIN_S)


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
    except ConnectionError:
        return Knock.REFUSED  # sshd went away under it
    except (OSError, ValueError, asyncio.TimeoutError):
        banner = b""
    finally:
        writer.close()
    return Knock.ACCEPTED if banner.startswith(b"SSH-") else Knock.REFUSED
