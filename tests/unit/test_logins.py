"""Logins give way to the loop's other work, and not to more than that."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mpiboot.link import client
from mpiboot.link.client import Login
from mpiboot.model.hosts import Host
from mpiboot.plan.gather import Reach
from mpiboot.plan.pacing import Width
from mpiboot.roles.attempts import Logins
from mpiboot.runtime.within import within

LEAST, FIRST, MOST = 4, 8, 48


class Slow:
    """Logins that take as long as they are told, and are counted."""

    def __init__(self, takes_s: float) -> None:
        self.begun = 0
        self._takes_s = takes_s

    def __call__(self, *_: object) -> Login:
        self.begun += 1
        time.sleep(self._takes_s)
        return Login(reach=Reach.REFUSED)


class Closing:
    """A connected socket; tells whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


def begin(
    monkeypatch: pytest.MonkeyPatch, takes_s: float, count: int
) -> tuple[Slow, Logins, list[asyncio.Task[Login]], list[Any]]:
    slow, terms = Slow(takes_s), asyncio.get_running_loop().create_future()
    terms.set_result(None)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(64))
    monkeypatch.setattr(client, "login", slow)
    made: Any = Logins
    logins: Logins = made(terms, lambda _host, _lease: None)
    socks: list[Any] = [Closing() for _ in range(count)]
    tasks = [
        asyncio.ensure_future(logins.login(Host(name=f"w{number}"), sock, 22, "root"))
        for number, sock in enumerate(socks)
    ]
    return slow, logins, tasks, socks


async def hold_up(seconds: float) -> None:
    """Keep the loop busy, as many messages do; it comes to its timers late."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.1)  # noqa: ASYNC251 - the loop is late: something computes
        await asyncio.sleep(0)


def test_few_logins_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones begin at once, though the loop is busy."""

    async def run() -> None:
        slow, _, tasks, _ = begin(monkeypatch, 0.5, FIRST)
        await asyncio.sleep(0)
        await hold_up(0.1)
        assert slow.begun == FIRST
        await asyncio.gather(*tasks)

    asyncio.run(run())


def test_a_loop_that_is_late_gets_no_more_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    """While something computes, further ones stay at the door."""

    async def run() -> int:
        slow, _, tasks, _ = begin(monkeypatch, 1.5, 3 * FIRST)
        await hold_up(0.8)
        begun = slow.begun
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return begun

    assert asyncio.run(run()) == FIRST


def test_a_calm_loop_lets_them_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logins that only wait for slow workers keep nobody out for long."""

    async def run() -> None:
        slow, _, tasks, _ = begin(monkeypatch, 2.0, 2 * FIRST)
        await asyncio.sleep(1.5)
        assert slow.begun > FIRST
        await asyncio.gather(*tasks)

    asyncio.run(run())


def test_who_ends_makes_room_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty-four quick logins do not take a look of 20 ms each."""

    async def run() -> float:
        begun = time.monotonic()
        _, _, tasks, _ = begin(monkeypatch, 0.005, 64)
        await asyncio.gather(*tasks)
        return time.monotonic() - begun

    assert min(asyncio.run(run()) for _ in range(3)) < 0.5


def test_who_is_called_back_at_the_door_leaves_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection is closed, and those behind it get their turn."""

    async def run() -> None:
        slow, _, tasks, socks = begin(monkeypatch, 0.2, 3 * FIRST)
        await asyncio.sleep(0)
        for task in tasks[FIRST : 2 * FIRST]:
            task.cancel()
        done = await within(10, asyncio.gather(*tasks, return_exceptions=True))
        assert sum(isinstance(one, Login) for one in done) == 2 * FIRST == slow.begun
        assert [one.closed for one in socks] == [False] * FIRST + [True] * FIRST + [False] * FIRST

    asyncio.run(run())


def test_connections_are_no_more_than_can_log_in_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """An sshd lets nobody stand at its door for ever; who gets no answer keeps nobody out."""

    async def run() -> None:
        _, logins, tasks, _ = begin(monkeypatch, 0, 0)
        inside, ended = [0, 0], asyncio.Event()

        async def one(number: int, *, answered: bool) -> None:
            async with logins.door() as connected:
                if answered:
                    connected()
                inside[answered] += 1
                await ended.wait()

        silent = [asyncio.ensure_future(one(n, answered=False)) for n in range(600)]
        await asyncio.sleep(0.05)
        assert inside == [512, 0]
        await asyncio.sleep(0.5)
        assert inside == [600, 0]
        there = [asyncio.ensure_future(one(n, answered=True)) for n in range(600)]
        await asyncio.sleep(0.5)
        assert inside == [600, 512]
        ended.set()
        await within(5, asyncio.gather(*silent, *there, *tasks))
        assert inside == [600, 600]

    asyncio.run(run())


def test_the_width_follows_the_loop() -> None:
    """It grows by steps while the loop is on time and shrinks by halves, within its bounds."""
    width = Width(LEAST, MOST)
    assert width.now == FIRST
    for _ in range(100):
        width.looked(0.001)
    assert width.now == MOST
    width.looked(0.02)
    assert width.now == MOST
    width.looked(0.05)
    assert width.now == MOST // 2
    for _ in range(10):
        width.looked(1.0)
    assert width.now == LEAST
