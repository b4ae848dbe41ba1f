"""The worker's side of fencing: one launcher at a time, and nothing left of the one before."""

from __future__ import annotations

import asyncio

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.server import Lease, LinkServer
from mpiboot.log import logger
from mpiboot.plan import fencing
from mpiboot.plan.fencing import Claim, Tickets
from mpiboot.roles.clearing import Clearing
from mpiboot.roles.witness import Witness

_LEFT_S = 2.0  # for ranks of an attempt that is over or was overtaken
_LAST_WORD_S = 1.0  # until it has reached who is dropped; then its session ends with the rest
_ORPHANED_S = 3.0  # for ranks whose launcher is lost: they must not go on writing


class Fence:
    """Decides which launcher may run ranks here, and clears away what others left.

    Args:
        link: the leases.
        clearing: ends processes of jobs.
        witness: begins its record anew with each claim.
    """

    def __init__(self, link: LinkServer, clearing: Clearing, witness: Witness) -> None:
        self._link = link
        self._clearing = clearing
        self._witness = witness
        self._tickets = Tickets()
        self._held: Claim | None = None
        self._holder: Lease | None = None
        self._work: set[asyncio.Task[object]] = set()

    def ticket(self, lease: Lease) -> int:
        """Return the number that a launcher has drawn here."""
        return self._tickets.draw(lease.launcher_id)

    def claimed_by(self, lease: Lease) -> bool:
        """Tell whether this launcher's ranks may be running."""
        return self._holder is lease

    def hear(self, lease: Lease, message: Message) -> None:
        """Act on a claim: grant it once nothing of the former holder is left, or refuse it."""
        asked = messages.read_claim(message)
        if asked is None:
            return
        held = self._held
        if not fencing.granted(held, asked):
            assert held is not None  # noqa: S101 - what nobody holds is granted
            logger.warning("launcher %s is refused: %s is newer", asked.name, _named(held))
            self._link.drop(lease, _superseded(held))
            return
        self._tickets.heed(asked)
        self._held, self._holder = asked, lease
        parting: set[int] = set()
        for other in self._link.leases - {lease}:
            older = self._tickets.draw(other.launcher_id) < asked.generation
            if older or (held is not None and other.launcher_id == held.launcher_id):
                logger.warning("launcher %s gives way to %s", other.launcher, _named(asked))
                parting.update(self._clearing.session(other))
                self._link.drop(other, _superseded(asked))
        self._do(self._grant(lease, asked, held, parting))

    async def _grant(
        self, lease: Lease, asked: Claim, held: Claim | None, parting: set[int]
    ) -> None:
        """Grant a claim when the sessions of those who give way have said so, and all else is gone."""
        await self._clearing.let_end(parting, _LAST_WORD_S)
        if held is not None:
            await self._clearing.clear(_LEFT_S, f"{_named(asked)} takes over")
        self._witness.begin()
        lease.send(messages.claim_message(asked))

    def lost(self, lease: Lease) -> None:
        """Stop the ranks of a launcher that is lost: nobody would hear of their results."""
        if self._holder is lease:
            self._holder = None
            self._do(self._clearing.clear(_ORPHANED_S, "the launcher is lost"))

    def over(self, lease: Lease) -> None:
        """Clear away what an attempt has left."""
        if self._holder is lease:
            self._holder = None
            self._do(self._clearing.clear(_LEFT_S, "the attempt is over"))

    def _do(self, work: object) -> None:
        task: asyncio.Task[object] = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._work.add(task)
        task.add_done_callback(self._work.discard)


def _named(claim: Claim) -> str:
    return f"launcher {claim.name or 'without a name'} of generation {claim.generation}"


def _superseded(by: Claim) -> Message:
    text = f"{_named(by)} has taken this worker"
    return Message(kind=messages.NOTICE, body={"event": messages.SUPERSEDED, "text": text})
