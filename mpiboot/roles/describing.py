"""Learn what this container is and has, in processes that give their memory back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping

from mpiboot.errors import MpibootError
from mpiboot.model import facts as model_facts
from mpiboot.model.facts import Facts
from mpiboot.model.record import replace
from mpiboot.plan import agreement
from mpiboot.runtime import inspect
from mpiboot.runtime.children import Children

_FACTS_S = 20.0


async def describe(
    children: Children, env: Mapping[str, str], *, session_env: Mapping[str, str], link: str
) -> Facts:
    """Describe this container; what cannot be learned is left out.

    Args:
        children: who starts processes.
        env: the environment of the job.
        session_env: the environment that a session has here: mpirun's daemon is looked up in it.
        link: path of the agent's socket.
    """
    mpirun = inspect.find_program("mpirun", session_env) or ""
    request = json.dumps({"env": dict(session_env), "link": link}).encode()
    argv = [sys.executable, "-I", "-m", "mpiboot.runtime.inspect"]
    seen, version = await asyncio.gather(
        children.run(argv, timeout_s=_FACTS_S, stdin=request), _version(children, mpirun, env)
    )
    data: dict[str, object] = {}
    with contextlib.suppress(ValueError):
        data = json.loads(seen.stdout)
    return replace(
        model_facts.from_json(data),
        mpi=agreement.called(version),
        mpi_path=os.path.realpath(mpirun) if mpirun else "",
        daemon=inspect.find_daemon(mpirun, agreement.daemons(version), session_env),
    )


async def _version(children: Children, mpirun: str, env: Mapping[str, str]) -> str:
    """Ask mpirun for its version; one that cannot even say it has none."""
    if not mpirun:
        return ""
    try:
        done = await children.run([mpirun, "--version"], timeout_s=_FACTS_S, env=env)
    except MpibootError:
        return ""
    return done.stdout.decode(errors="replace")
