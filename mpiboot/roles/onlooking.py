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


class NobodyError(UnseenError):
    """No agent runs here; one that has ended may have left its status."""


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
    raise NobodyError("no mpiboot runs here; ask in one of the job's containers")


def elsewhere(status_file: str) -> str:
    """Say what to do where the agent may have left its status in a place that it was told.

    Args:
        status_file: of the settings that are known here; those of the agent's own flags are not.
    """
    if status_file:
        return f"; {status_file} tells of no end, either"
    return "; if --status-file moved its status, set MPIBOOT_STATUS_FILE to that file"


def _foreign(path: Path) -> UnseenError:
    return UnseenError(f"{path} belongs to another user; ask as the user that mpiboot runs as")


def left(runtime_dir: str, status_file: str, env: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the status that an agent has left behind at its end; None where there is none.

    Args:
        runtime_dir: of the settings.
        status_file: of the settings; an agent that knew it has left nothing in the other places.
        env: the environment.
    """
    usual = [base / role / STATUS for base in files.candidates(runtime_dir, env) for role in _ROLES]
    for path in [Path(status_file), *usual] if status_file else usual:
        try:
            status = json.loads(path.read_text())
        except (OSError, ValueError):
            continue
        if isinstance(status, dict) and status.get("outcome"):
            return status
    return None
