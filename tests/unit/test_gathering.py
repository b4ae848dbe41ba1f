"""The wait for workers, where something goes wrong that nobody foresaw."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from mpiboot.link import client
from mpiboot.model.facts import Facts
from mpiboot.model.hosts import Host, Listed
from mpiboot.plan.gather import Seen
from mpiboot.plan.identity import Own
from mpiboot.report.progress import Bar
from mpiboot.roles.attempts import Approach
from mpiboot.roles.gathering import Gathering
from mpiboot.runtime.within import within


async def no_thread(_host: Host) -> Seen:
    raise RuntimeError("can't start new thread")


def test_a_fault_that_nobody_foresaw_ends_the_wait() -> None:
    """A host whose attempts cannot be made is not waited for until the deadline."""
    approach = Approach(
        login=cast("client.Terms", None),  # nobody logs in
        user="root", port=22, attempt_s=1.0, settle_s=1.0, deadline_s=20.0, strikes=3,
        through=no_thread,
    )  # fmt: skip

    async def wait() -> None:
        own = Own(hostname="launcher", addresses=(), facts=Facts())
        found = Listed(hosts=(Host(name="w1"), Host(name="w2")))
        await Gathering(found, approach, own, Bar("off")).run()

    with pytest.raises(RuntimeError, match="can't start new thread"):
        asyncio.run(within(5.0, wait()))
