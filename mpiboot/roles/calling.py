"""Find out whether workers reach the launcher, and each other: daemons and ranks must connect."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping

from mpiboot.link import messages
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.plan import neighbours
from mpiboot.runtime.within import came

_ANSWER_S = 3.0
_PORTS = (61000, 65535)  # above those that Linux gives: no rank's own listener is disturbed


class Calls:
    """Asks workers to connect to a port as random as mpirun's and the ranks'."""

    def __init__(self) -> None:
        self._asked: dict[str, int] = {}
        self._answers: dict[str, Message] = {}
        self._all = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    def hear(self, host: str, message: Message) -> None:
        """Take a worker's answer."""
        port = self._asked.get(host)
        if message.body.get("port", port) != port:
            return  # to a question that nobody waits for any more
        self._answers[host] = message
        if self._answers.keys() >= self._asked.keys():
            self._all.set()

    async def unreachable(self, leases: Mapping[str, Lease]) -> dict[str, str]:
        """Return the workers that could not connect to us, each with the reason in words."""
        self.close()
        asked = {name: lease for name, lease in leases.items() if not lease.plain}
        if not asked:
            return {}

        def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        own_address = next(iter(asked.values())).own_address
        async with await asyncio.start_server(hang_up, host=own_address, port=0) as listening:
            port = listening.sockets[0].getsockname()[1]
            answers = await self._ask(asked, dict.fromkeys(asked, (own_address, port)))
        return {name: one.text("why") for name, one in answers.items() if one.text("why")}

    def watch(self, leases: Mapping[str, Lease], cut_off: Callable[[str], None]) -> None:
        """Tell in words of workers that do not reach each other; nobody waits for it."""
        self._watching = asyncio.ensure_future(self._neighbours(dict(leases), cut_off))

    def close(self) -> None:
        """Ask no neighbours any more."""
        if self._watching is not None:
            self._watching.cancel()

    async def _neighbours(
        self, leases: Mapping[str, Lease], cut_off: Callable[[str], None]
    ) -> None:
        addresses = {name: lease.peer[0] for name, lease in leases.items()}
        asked = neighbours.ring(addresses)
        silent = {name: "" for name in asked if not leases[name].plain}
        begun = asyncio.get_running_loop().time()
        for _ in range(2):  # a busy machine may have been late
            where = {
                name: (addresses[asked[name]], random.randint(*_PORTS))  # noqa: S311 - guards nothing
                for name in silent
            }
            answers = await self._ask(leases, where)
            silent = {
                name: one.text("why")
                for name, one in answers.items()
                # One that says nothing to us either is not cut off from others: its lease will tell.
                if one.body.get("silent") and leases[asked[name]].heard_at > begun
            }
        text = neighbours.told(silent, asked)
        if text:
            cut_off(text)

    async def _ask(
        self, leases: Mapping[str, Lease], where: Mapping[str, tuple[str, int]]
    ) -> dict[str, Message]:
        """Ask workers to connect to an address and port each; return the answers in time."""
        self._asked = {name: port for name, (_, port) in where.items()}
        self._answers = {}
        self._all.clear()
        for name, (address, port) in where.items():
            body = {"address": address, "port": port}
            leases[name].send(Message(kind=messages.CALL, body=body))
        if where:
            await came(self._all, _ANSWER_S)
        return self._answers
