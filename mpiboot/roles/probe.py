"""Ask the agent of this container, for exec probes and health checks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from mpiboot.link import server
from mpiboot.roles.agent import SOCKET
from mpiboot.runtime import files

_ROLES = ("worker", "launcher")
NOBODY = "no mpiboot runs here"


def run(what: str, runtime_dir: str, env: Mapping[str, str]) -> tuple[int, str]:
    """Return 0 and `ready` or `live`, or 1 and the reason."""
    return asyncio.run(_ask(what, runtime_dir, env))


async def _ask(what: str, runtime_dir: str, env: Mapping[str, str]) -> tuple[int, str]:
    for base in files.candidates(runtime_dir, env):
        for role in _ROLES:
            path = base / role / SOCKET
            try:
                if not path.exists():
                    continue
            except PermissionError:
                return 1, f"{base} belongs to another user"
            reason = await server.ask(path, what)
            if reason is not None:
                return (1, reason) if reason else (0, what)
    return 1, NOBODY
