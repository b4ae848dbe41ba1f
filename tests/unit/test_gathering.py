"""The wait for workers, where something goes wrong that nobody foresaw."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import pytest

from mpiboot.link import client
from mpiboot.model.facts import Facts
from mpiboot.model.hosts import Host, Listed
from mpiboot.plan import gather
from mpiboot.plan.gather import Decision, Reach, Seen, Terms, Verb
from mpiboot.plan.identity import Own
from mpiboot.report.terminal.waiting import WaitTable
from mpiboot.roles.attempts import Approach
from mpiboot.roles.gathering import Gathering
from mpiboot.runtime.within import within


def approach_through(through: Callable[[Host], Awaitable[Seen]]) -> Approach:
    """Approach hosts without a login."""
    return Approach(
        login=cast("asyncio.Future[client.Terms]", None),  # nobody logs in
        user="root", port=22, attempt_s=1.0, settle_s=1.0, deadline_s=20.0, strikes=3,
        through=through,
    )  # fmt: skip


async def no_thread(_host: Host) -> Seen:
    raise RuntimeError("can't start new thread")


def test_a_fault_that_nobody_foresaw_ends_the_wait() -> None:
    """A host whose attempts cannot be made is not waited for until the deadline."""
    approach = approach_through(no_thread)

    async def wait() -> None:
        own = Own(hostname="launcher", addresses=(), facts=Facts())
        found = Listed(hosts=(Host(name="w1"), Host(name="w2")))
        await Gathering(found, approach, own, WaitTable("off", {})).run()

    with pytest.raises(RuntimeError, match="can't start new thread"):
        asyncio.run(within(5.0, wait()))


def test_news_of_many_hosts_cost_no_look_at_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as most are missing, each one that comes is counted, and only the last one decides."""
    looks = 0
    decide = gather.decide

    def watched(seen: Sequence[Seen], terms: Terms, waited_s: float) -> Decision:
        nonlocal looks
        looks += 1
        return decide(seen, terms, waited_s)

    async def comes(host: Host) -> Seen:
        await asyncio.sleep(int(host.name[1:]) / 1000)
        return Seen(host=host, reach=Reach.BY_AGENT, address="192.0.2.1")

    approach = approach_through(comes)

    async def wait() -> Decision:
        own = Own(hostname="launcher", addresses=(), facts=Facts())
        found = Listed(hosts=tuple(Host(name=f"w{number}") for number in range(300)))
        return await Gathering(found, approach, own, WaitTable("off", {})).run()

    monkeypatch.setattr(gather, "decide", watched)
    decision = asyncio.run(within(15.0, wait()))
    assert (decision.verb, len(decision.chosen)) == (Verb.GO, 300)
    assert looks == 1
