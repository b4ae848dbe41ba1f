"""Where nodes announce themselves to the launcher: an sshd like a worker's, and a board."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.server import Lease
from mpiboot.log import logger
from mpiboot.model.announced import Announced
from mpiboot.model.counting import counted
from mpiboot.model.hosts import Source
from mpiboot.plan import announcing
from mpiboot.plan.announcing import Board
from mpiboot.roles.agent import Agent
from mpiboot.roles.serving import Service

_QUIET = "ERROR"  # of sshd's log: each node logs in several times


class Reception:
    """Hears announcements, for all attempts of a run; it stays closed where none are expected.

    Args:
        agent: the agent at work.
        held: tells the names of the hosts that are held.

    Attributes:
        board: what is known.
        changed: set with every announcement that brings something new.
        trouble: why nobody can announce itself any more; empty: they can.
    """

    def __init__(self, agent: Agent, held: Callable[[], Collection[str]]) -> None:
        self._agent = agent
        self._held = held
        self._service: Service | None = None
        self.board = Board(source=Announced(count=1, own=0))
        self.changed = asyncio.Event()
        self.trouble = ""

    async def open(self, source: Source) -> None:
        """Start to hear announcements, where the source says that they come.

        Raises:
            ConfigError: sshd cannot be started.
            LaunchFailedError: it runs, but a login does not work.
        """
        if not isinstance(source, Announced):
            return
        self.board = Board(source=source)
        if not source.awaited:
            return
        self._service = Service(
            self._agent,
            on_login=lambda _what: None,
            on_down=lambda why: logger.warning("%s", why),
            on_up=lambda: None,
            on_fail=self._gone,
            on_facts=lambda: None,
            log_level=_QUIET,
            peers=source.awaited,
        )
        await self._service.start()
        logger.info(
            "waiting for %s",
            counted(source.awaited, "node to announce itself", "nodes to announce themselves"),
        )

    def hear(self, client: Lease, message: Message) -> None:
        """Take an announcement, and answer it."""
        said = messages.read_announcement(message)
        if self._service is None or said is None:
            why = "no announcement is expected" if said else "the announcement is of the wrong form"
            client.send(messages.heard_message(why))
            return
        taken = announcing.take(self.board, said, self._held())
        self.board = taken.board
        client.send(messages.heard_message(taken.refused))
        if taken.refused:
            logger.warning("announcement of %s refused: %s", said.address[:60], taken.refused)
        elif taken.news:
            logger.debug("node %s is at %s port %s", said.index, said.address, said.port)
            self.changed.set()

    def close(self) -> None:
        """Hear nothing more."""
        if self._service is not None and self._service.sshd is not None:
            self._service.sshd.stop()

    def _gone(self, why: str) -> None:
        logger.error("no node can announce itself any more: %s", why)
        self.trouble = why
        self.changed.set()
