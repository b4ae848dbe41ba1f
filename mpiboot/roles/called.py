"""Answer a launcher's question whether this worker reaches it, or a neighbour."""

from __future__ import annotations

import asyncio

from mpiboot.link import messages, server
from mpiboot.link.messages import Message
from mpiboot.model.fields import whole
from mpiboot.model.hosts import is_address
from mpiboot.runtime.within import within

_CONNECT_S = 2.0  # a lost packet is sent again after 1 s


async def answer(lease: server.Lease, message: Message) -> None:
    """Try to connect where the launcher asks to, and tell how it went; nothing is sent there.

    An address it must be: a name would be looked up, which may take any time.
    """
    address, port = message.text("address"), whole(message.body, "port", 65535)
    if not port or not is_address(address):
        return
    why, silent = "", False
    try:
        _, writer = await within(_CONNECT_S, asyncio.open_connection(address, port))
        writer.close()
    except asyncio.TimeoutError:
        why, silent = f"no answer from {address}, port {port}, within {_CONNECT_S:g} s", True
    except OSError as fault:
        why = f"{address}: {fault.strerror or fault}"
    body = {"why": why, "silent": silent, "port": port}
    lease.send(Message(kind=messages.CALL, body=body))
