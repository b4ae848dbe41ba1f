"""Those who look on in a worker's container: asked for together, answered once, and told of the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from mpiboot.link import viewing
from mpiboot.link.messages import Message
from mpiboot.roles.onlookers import Onlookers


class Peer:
    """The other end of a connection: keeps what it is told."""

    pid = 0

    def __init__(self) -> None:
        self.told: list[Message] = []

    def send(self, message: Message) -> None:
        self.told.append(message)

    def views(self) -> list[str]:
        assembly = viewing.Assembly()
        return [text for one in self.told if (text := assembly.take(one)) is not None]


def looking(work: Callable[[Any, Peer], None], *, held: bool = True) -> Peer:
    """Do something with a worker's onlookers inside a loop; return the launcher's end."""
    launcher = Peer()

    async def run() -> None:
        link: Any = SimpleNamespace(leases={launcher} if held else set())
        nothing: Any = SimpleNamespace()
        work(Onlookers(nothing, link, nothing), launcher)

    asyncio.run(run())
    return launcher


def say(onlookers: Any, launcher: Peer, text: str, *, last: bool = False) -> None:
    for part in viewing.parts(text, last=last):
        onlookers.answered(launcher, part)


def test_one_question_serves_all() -> None:
    """Two who ask at the same time cost the launcher one view, and get the same."""
    first, second = Peer(), Peer()

    def work(onlookers: Any, launcher: Peer) -> None:
        onlookers.hear(first, viewing.ASK)
        onlookers.hear(second, viewing.ASK)
        say(onlookers, launcher, '{"a":1}')

    assert [viewing.asked_at(one) for one in looking(work).told] == [0]
    assert first.views() == second.views() == ['{"a":1}']


def test_a_long_view_is_fetched_part_by_part() -> None:
    """Only one part is ever under way, and the next one is asked for where the last one ended."""
    client, text = Peer(), json.dumps(["x" * 100_000])

    def work(onlookers: Any, launcher: Peer) -> None:
        onlookers.hear(client, viewing.ASK)
        for _ in range(10):
            at = viewing.asked_at(launcher.told[-1])
            if client.told:
                break
            onlookers.answered(launcher, viewing.part(text, at))

    assert [viewing.asked_at(one) for one in looking(work).told] == [0, 30_000, 60_000, 90_000]
    assert client.views() == [text]


def test_an_answer_that_comes_too_late_is_no_end() -> None:
    """What nobody waits for any more is dropped; the next question asks anew."""
    client = Peer()

    def work(onlookers: Any, launcher: Peer) -> None:
        say(onlookers, launcher, '{"late":1}')
        onlookers.hear(client, viewing.ASK)
        say(onlookers, launcher, '{"new":1}')

    assert len(looking(work).told) == 1
    assert client.views() == ['{"new":1}']


def test_the_end_is_told_to_all_who_looked_on_and_who_ask_later() -> None:
    """The last view comes unasked, and stays the answer while no other launcher is there."""
    client, later = Peer(), Peer()

    def work(onlookers: Any, launcher: Peer) -> None:
        onlookers.hear(client, viewing.ASK)
        say(onlookers, launcher, '{"before":1}')
        say(onlookers, launcher, '{"end":1}', last=True)
        onlookers.hear(later, viewing.ASK)

    assert len(looking(work).told) == 1
    assert client.views() == ['{"before":1}', '{"end":1}']
    assert later.views() == ['{"end":1}']
