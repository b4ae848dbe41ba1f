"""What commands have in common: settings from all sources, the job's command, signals."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from mpiboot import cli
from mpiboot.errors import UsageError
from mpiboot.model import options
from mpiboot.model.options import ConfigFile, Resolved
from mpiboot.runtime import latch


def resolve(name: str, words: Sequence[str], env: Mapping[str, str], role: str = "") -> Resolved:
    """Read all sources of settings for one command; flags of one role, or of all."""
    from mpiboot.runtime import files  # noqa: PLC0415

    given, problems = _flags(name, words, role)
    chosen = given.pop("config", None) or env.get(options.CONFIG_VARIABLE)
    path = chosen or options.DEFAULT_CONFIG
    text = files.read_text(path)
    if chosen and text is None:
        problems.append(f"settings file {path} cannot be read")
    file = ConfigFile(name=path, text=text) if text is not None else None
    return options.resolve(given, env, file, problems)


def _flags(name: str, words: Sequence[str], role: str) -> tuple[dict[str, Any], list[str]]:
    """Return the raw values that flags give, and the problems found."""
    if not words:
        return {}, []
    from mpiboot.model import flags  # noqa: PLC0415 - most agents are given none

    synopsis, purpose, _ = cli.COMMANDS[name] if name else cli.AUTO
    prog = f"mpiboot {name}".strip()
    told = f"{purpose[:1].upper()}{purpose[1:]}."
    return flags.parse(flags.parser(prog, role, told, synopsis=synopsis), words)


def needed(command: list[str] | None) -> list[str]:
    """Return the job's command.

    Raises:
        UsageError: there is none.
    """
    if not command:
        raise UsageError(
            "no command for the job", hint="write it after --, as in: -- python train.py"
        )
    return command


def default_signals() -> None:
    """Let a short command die by signals as any other program."""
    number = latch.release()
    if number is not None:
        sys.exit(128 + number)
