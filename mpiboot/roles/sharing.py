"""Leases that mpirun's ssh may use, in place of connections of its own."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from mpiboot.link.client import Lease
from mpiboot.link.sessions import Sessions
from mpiboot.log import logger
from mpiboot.plan import access, holding
from mpiboot.roles.agent import Agent
from mpiboot.runtime import rlimits

_THREADS = 32  # each waits for a worker's answer, and computes for a millisecond


class Sharing:
    """What the ssh of one attempt shares; nothing until `begin`.

    Args:
        agent: whose private directory has the sockets.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._sessions: Sessions | None = None
        self._threads: ThreadPoolExecutor | None = None

    def begin(self, leases: Mapping[str, Lease], cpus: float) -> Mapping[str, str]:
        """Share leases where that is wanted and possible.

        Args:
            leases: of those who take part, by host.
            cpus: of this container.

        Returns:
            host → path of the socket for its `ControlPath`.
        """
        self.close()
        settings = self._agent.settings
        why_not = access.unshared(settings, self._agent.job_env, len(leases), cpus)
        needed = holding.with_sessions(len(leases))
        if not why_not and rlimits.room_for(needed) < needed:
            why_not = f"that takes {needed} open files"
        if why_not or not leases:
            logger.debug("mpirun's ssh makes connections of its own: %s", why_not or "no leases")
            return {}
        directory = self._agent.directory / "ssh"
        directory.mkdir(mode=0o700, exist_ok=True)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="session")
        self._sessions = Sessions(directory, self._threads, settings.attempt_timeout_s)
        shared = {name: self._sessions.share(name, lease) for name, lease in leases.items()}
        return {name: path for name, path in shared.items() if path}

    def forget(self, name: str) -> None:
        """Share the lease of a host no more: it is lost."""
        if self._sessions is not None:
            self._sessions.forget(name)

    def close(self) -> None:
        """Share nothing any more; sessions that are open end."""
        if self._sessions is not None:
            self._sessions.close()
            self._sessions = None
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
