"""Run a command of the user's beside the agent, in debug mode."""

from __future__ import annotations

import asyncio

from mpiboot.errors import MpibootError
from mpiboot.log import logger
from mpiboot.plan import modes
from mpiboot.roles.agent import Agent


def start(agent: Agent) -> None:
    """Start --debug-command, where there is one; how it ends is told, and changes nothing."""
    words = modes.words_of(agent.settings.debug_command, "--debug-command")
    if not agent.settings.debug or not words:
        return
    try:
        child = agent.children.spawn(words, name="debug-command", env=agent.job_env)
    except MpibootError as fault:
        logger.error("--debug-command: %s", fault)
        return
    logger.info("--debug-command runs as process %s", child.pid)

    def tell(ended: asyncio.Future[int]) -> None:
        if not ended.cancelled():
            logger.info("--debug-command ended with %s", ended.result())

    child.ended.add_done_callback(tell)
