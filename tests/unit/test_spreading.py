"""Thousands of workers are asked a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.plan.release import Over
from mpiboot.roles import goodbye
from mpiboot.roles.claiming import Claimant

MANY, A_FEW = 300, 64


class Fake:
    """A lease whose worker answers in the loop's next turn."""

    plain = False
    ticket = 0
    silent = most = 0

    def __init__(self, answer: str) -> None:
        self._answer = answer

    def attach(self, on_message: Callable[[Message], None], _on_lost: object) -> None:
        self._hear = on_message

    def send(self, _message: Message) -> None:
        Fake.silent += 1
        Fake.most = max(Fake.most, Fake.silent)
        asyncio.get_running_loop().call_later(0.001, self._answers)

    def _answers(self) -> None:
        Fake.silent -= 1
        self._hear(Message(kind=self._answer))

    def close(self) -> None:
        """Nothing is open."""


def leases(answer: str) -> dict[str, Any]:
    Fake.silent = Fake.most = 0
    return {f"w{number}": Fake(answer) for number in range(MANY)}


def test_a_claim_is_heard_by_few_at_a_time() -> None:
    """All have been asked, and have granted it."""
    asyncio.run(Claimant().claim(leases(messages.CLAIM), 20.0))
    assert (Fake.silent, Fake.most) == (0, A_FEW)


def test_the_end_is_told_to_few_at_a_time() -> None:
    """All have been told, and have answered."""
    asked = leases(messages.BYE).values()
    asyncio.run(goodbye.say(Over(code=0, final=True, ran=True), asked))
    assert (Fake.silent, Fake.most) == (0, A_FEW)
