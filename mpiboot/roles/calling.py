"""Find out whether workers reach the launcher: mpirun's daemons must connect back to it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from mpiboot.link import messages, server
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.runtime.within import came, within

_CONNECT_S = 2.0
_ANSWER_S = 3.0


class Calls:
    """Asks workers to connect to a port of ours, as random as mpirun's."""

    def __init__(self) -> None:
        self._answers: dict[str, str] = {}
        self._all = asyncio.Event()
        self._expected = 0

    def hear(self, host: str, message: Message) -> None:
        """Take a worker's answer."""
        self._answers[host] = message.text("why")
        if len(self._answers) >= self._expected:
            self._all.set()

    async def unreachable(self, leases: Mapping[str, Lease]) -> dict[str, str]:
        """Return the workers that could not connect, each with the reason in words."""
        asked = {name: lease for name, lease in leases.items() if not lease.plain}
        self._expected = len(asked)
        if not asked:
            return {}

        def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        own_address = next(iter(asked.values())).own_address
        async with await asyncio.start_server(hang_up, host=own_address, port=0) as listening:
            port = listening.sockets[0].getsockname()[1]
            for lease in asked.values():
                body = {"address": own_address, "port": port}
                lease.send(Message(kind=messages.CALL, body=body))
            await came(self._all, _ANSWER_S)
        return {name: why for name, why in self._answers.items() if why}


async def answer(lease: server.Lease, message: Message) -> None:
    """Try to connect to the launcher that asks for it, and tell how it went."""
    address, port = message.text("address"), message.body.get("port")
    if not isinstance(port, int) or not 0 < port < 65536:
        return
    why = ""
    try:
        _, writer = await within(_CONNECT_S, asyncio.open_connection(address, port))
        writer.close()
    except asyncio.TimeoutError:
        why = f"no answer from {address} within {_CONNECT_S:g} s"
    except OSError as fault:
        why = f"{address}: {fault.strerror or fault}"
    lease.send(Message(kind=messages.CALL, body={"why": why}))
