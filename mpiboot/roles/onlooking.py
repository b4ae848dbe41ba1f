"""Look at a job from any of its containers: ask the agent there, again and again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from mpiboot.link import viewing
from mpiboot.report.view import SCHEMA
from mpiboot.roles.agent import SOCKET
from mpiboot.roles.reporting import STATUS
from mpiboot.runtime import files

_ROLES = ("launcher", "worker")


class UnseenError(Exception):
    """Nothing can be seen of a job from here; the text says why, and what to do."""


async def views(
    runtime_dir: str, env: Mapping[str, str], every_s: float
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the job's view document, anew after each pause, until the agent here has ended.

    Args:
        runtime_dir: of the settings.
        env: the environment.
        every_s: pause between an answer and the next question.

    Raises:
        UnseenError: no agent runs here, it belongs to another user, or it does not answer.
    """
    path = _socket(runtime_dir, env)
    texts = viewing.views(path, every_s)
    try:
        async for text in texts:
            document = json.loads(text)
            if isinstance(document, dict) and document.get("schema") == SCHEMA:
                yield document
    except PermissionError as fault:
        raise _foreign(path) from fault
    except (OSError, asyncio.TimeoutError) as fault:
        raise UnseenError("the mpiboot of this container does not answer") from fault
    finally:
        await texts.aclose()


def _socket(runtime_dir: str, env: Mapping[str, str]) -> Path:
    """Find the socket of the agent that runs here."""
    for base in files.candidates(runtime_dir, env):
        for role in _ROLES:
            try:
                if (base / role / SOCKET).exists():
                    return base / role / SOCKET
            except PermissionError as fault:
                raise _foreign(base) from fault
    raise UnseenError("no mpiboot runs here; ask in one of the job's containers")


def _foreign(path: Path) -> UnseenError:
    return UnseenError(f"{path} belongs to another user; ask as the user that mpiboot runs as")


def left(runtime_dir: str, env: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the status that an agent has left behind at its end; None where there is none."""
    for base in files.candidates(runtime_dir, env):
        for role in _ROLES:
            try:
                status = json.loads((base / role / STATUS).read_text())
            except (OSError, ValueError):
                continue
            if isinstance(status, dict):
                return status
    return None
