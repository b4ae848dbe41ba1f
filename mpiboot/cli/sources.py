"""What commands have in common: settings from all sources, the job's command, signals."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from mpiboot.errors import UsageError
from mpiboot.model import options
from mpiboot.model.options import ConfigFile, Resolved
from mpiboot.runtime import latch


def resolve(name: str, words: Sequence[str], env: Mapping[str, str], role: str = "") -> Resolved:
    """Read all sources of settings for one command; flags of one role, or of all."""
    from mpiboot.runtime import files  # noqa: PLC0415

    prog = f"mpiboot {name}".strip()
    made = options.parser(prog, role, "")
    flags, problems = options.parse_flags(made, words)
    chosen = flags.pop("config", None) or env.get(options.CONFIG_VARIABLE)
    path = chosen or options.DEFAULT_CONFIG
    text = files.read_text(path)
    if chosen and text is None:
        problems.append(f"settings file {path} cannot be read")
    file = ConfigFile(name=path, text=text) if text is not None else None
    return options.resolve(flags, env, file, problems)


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
