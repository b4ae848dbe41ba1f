"""The deadline of the whole job stands still while the job is paused."""

from __future__ import annotations

import asyncio

from mpiboot.roles.deadline import Deadline


def test_what_is_left_is_kept_while_it_is_held() -> None:
    """Held for longer than it lasts it does not expire; let go again, it does."""

    async def check() -> None:
        expired = asyncio.Event()
        deadline = Deadline(0.1, expired.set)
        deadline.go()
        deadline.hold()
        await asyncio.wait({asyncio.ensure_future(expired.wait())}, timeout=0.4)
        assert not expired.is_set()
        deadline.go()
        deadline.go()
        await expired.wait()

    asyncio.run(check())


def test_no_deadline_never_expires() -> None:
    """0 seconds mean for ever."""

    async def check() -> None:
        deadline = Deadline(0, lambda: (_ for _ in ()).throw(AssertionError))
        deadline.go()
        deadline.hold()
        deadline.go()
        await asyncio.wait({asyncio.get_running_loop().create_future()}, timeout=0.05)

    asyncio.run(check())
