"""The launcher's keys: found, copied, or not needed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from mpiboot.model.settings import Settings
from mpiboot.roles import rshagent
from mpiboot.runtime import keymaking, keys
from mpiboot.runtime.keys import KeyMaterial


async def prepare(settings: Settings, env: Mapping[str, str], directory: Path) -> KeyMaterial:
    """Lay the job's keys into the private directory, in a thread.

    Raises:
        ConfigError: there are none, or they cannot be used.
    """
    if settings.rsh_agent:
        return rshagent.NO_KEYS
    origin = keys.find(settings, env)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, keymaking.prepare, origin, directory)


def note(settings: Settings, env: Mapping[str, str]) -> str:
    """Tell where the keys will come from, for people, or that none are there yet.

    Raises:
        ConfigError: those that are named cannot be used.
    """
    if settings.rsh_agent:
        return f"no keys are needed: workers are reached through {settings.rsh_agent}"
    origin = keys.seek(settings, env)
    if origin is None:  # the plan is the same with any
        return f"no keys are there yet, and the job needs some: {keys.HOW_TO_MAKE}"
    return f"keys from {origin.what}; host keys of the job are pinned at the start"
