"""Claim the workers for an attempt, so that no other launcher's ranks run beside ours."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping

from mpiboot.errors import LaunchFailedError
from mpiboot.link import messages
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.plan.fencing import Claim
from mpiboot.plan.loss import How
from mpiboot.roles.spreading import spread


class Claimant:
    """This launcher, in all its attempts."""

    def __init__(self) -> None:
        self.launcher_id = secrets.token_hex(8)
        self.generation = 1

    async def claim(self, leases: Mapping[str, Lease], timeout_s: float) -> None:
        """Claim the workers behind these leases; plain sshd has no say.

        Args:
            leases: by host.
            timeout_s: for the answers; workers first end what an older launcher has left.

        Raises:
            LaunchFailedError: a newer launcher has one of them, or one does not answer.
        """
        asked = {name: lease for name, lease in leases.items() if not lease.plain}
        self.generation = max([self.generation, *(lease.ticket for lease in asked.values())])
        claim = Claim(
            generation=self.generation, launcher_id=self.launcher_id, name=os.uname().nodename
        )
        answers = {
            _ask(name, lease, claim): name async for name, lease in spread(list(asked.items()))
        }
        if not answers:
            return
        done, silent = await asyncio.wait(answers, timeout=timeout_s)
        for answer in silent:
            answer.cancel()
        for answer in done:
            answer.result()
        if silent:
            host = answers[next(iter(silent))]
            raise LaunchFailedError(f"{host} did not answer a claim within {timeout_s:g} s")


def _ask(name: str, lease: Lease, claim: Claim) -> asyncio.Future[None]:
    """Ask one worker; the future is done when it has granted the claim, or failed."""
    heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def answered(message: Message) -> None:
        if message.kind == messages.CLAIM and not heard.done():
            heard.set_result(None)

    def gone(why: str, _how: How) -> None:
        if not heard.done():
            text = f"{name} went away while the job was being launched: {lease.notice or why}"
            heard.set_exception(LaunchFailedError(text))

    lease.attach(answered, gone)
    lease.send(messages.claim_message(claim))
    return heard
