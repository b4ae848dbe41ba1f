"""Warn the ranks that the job is about to be stopped, and give them time to save their work."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping

from mpiboot.link import messages
from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.log import logger
from mpiboot.model.fields import whole
from mpiboot.roles.agent import Agent
from mpiboot.runtime.children import Child
from mpiboot.runtime.ladder import Ladder

_POLL_S = 0.05
# What is kept back of the stop grace for taking down mpirun and releasing the workers.
_RESERVE_S = 6.0
# mpirun forwards these to its ranks and goes on; TERM and INT it takes for itself.
_FORWARDED = ("USR1", "USR2")


class Forewarning:
    """One warning of all ranks.

    Args:
        agent: the agent at work.
        leases: of the workers.
        tell_own: sends an order to the ranks of this very container; None: there are none.
        mpirun: it still runs.
    """

    def __init__(
        self,
        agent: Agent,
        leases: Mapping[str, Lease],
        tell_own: Callable[[Message], None] | None,
        mpirun: Child,
    ) -> None:
        self._agent = agent
        self._leases = leases
        self._tell_own = tell_own
        self._mpirun = mpirun
        self._asked = 0
        self._answers: list[int] = []

    def hear(self, message: Message) -> None:
        """Take the answer of a container: how many ranks it has signalled."""
        self._answers.append(whole(message.body, "ranks", 1 << 31) or 0)

    async def give(self, ended: Callable[[], bool], ladder: Ladder | None) -> float | None:
        """Send the signal and wait until the ranks have ended or their time is over.

        Args:
            ended: tells whether all ranks are known to have ended.
            ladder: whose deadline must be kept; None: there is none.

        Returns:
            how long they had, in seconds; None when they were not warned.
        """
        settings = self._agent.settings
        grace_s = settings.checkpoint_grace_s
        if ladder is not None:
            grace_s = min(grace_s, ladder.left_s - _RESERVE_S)
        if grace_s <= 0 or not self._send(settings.checkpoint_signal, grace_s):
            return None
        logger.info(
            "the ranks are warned by SIG%s and get %.1f s to save their work",
            settings.checkpoint_signal, grace_s,
        )  # fmt: skip
        clock = asyncio.get_running_loop().time
        begun, nobody = clock(), False
        while clock() < begun + grace_s and self._mpirun.running and not ended():
            if ladder is None and self._agent.stopped.is_set():
                ladder = self._agent.ladder  # a stop has come on top
            nobody = self._nobody
            if nobody or (ladder is not None and ladder.left_s < _RESERVE_S):
                break
            await asyncio.sleep(_POLL_S)
        self._tell({"go": True})
        return None if nobody else clock() - begun

    @property
    def _nobody(self) -> bool:
        """Tell whether all have answered that they have no ranks."""
        return 0 < self._asked <= len(self._answers) and not any(self._answers)

    def _send(self, name: str, grace_s: float) -> bool:
        """Send the signal over every way there is; tell whether there was one."""
        number = int(signal.Signals[f"SIG{name}"])
        able = [lease for lease in self._leases.values() if not lease.plain]
        if not able and self._tell_own is None and name in _FORWARDED:
            self._mpirun.signal(number)
            return True
        self._asked = len(able) + (self._tell_own is not None)
        self._tell({"number": number, "hold_ms": int(grace_s * 1000)})
        return bool(self._asked)

    def _tell(self, body: Mapping[str, object]) -> None:
        message = Message(kind=messages.SIGNAL, body=body)
        for lease in self._leases.values():
            lease.send(message)
        if self._tell_own is not None:
            self._tell_own(message)
