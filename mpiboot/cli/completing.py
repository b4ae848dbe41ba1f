"""Completion in shells, made of the table of commands and of the parsers with which they answer --help."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence

from mpiboot import cli
from mpiboot.cli.sources import default_signals
from mpiboot.model import flags
from mpiboot.model.settings import specs
from mpiboot.plan.completion import SHELLS
from mpiboot.plan.completion.words import Command, Kind, Option, brief

_KINDS: dict[str, Kind] = {"FILE": "file", "DIR": "directory"}
_OFF = "off: "  # what is said of --no-…, whose help is that of its opposite
_VERSION = Option(flags=("--version",), help="show the version")


def completion(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Print the script with which a shell completes our command line."""
    default_signals()
    made = flags.bare(
        "mpiboot completion",
        "Print the script with which a shell completes commands, options and what follows them:"
        " docs/completion.md says where to put it.",
    )
    made.add_argument("shell", choices=tuple(SHELLS))
    print(SHELLS[made.parse_args(list(argv)).shell](commands(env)), end="")
    return 0


def commands(env: Mapping[str, str]) -> list[Command]:
    """Describe all commands; the one that nobody names comes first.

    Args:
        env: the environment; commands that are asked for their help do not read it.
    """
    rows = {"": cli.AUTO, **cli.COMMANDS}
    return [_command(name, *row, env) for name, row in rows.items() if row[1]]


def _command(name: str, words: str, purpose: str, module: str, env: Mapping[str, str]) -> Command:
    function = getattr(importlib.import_module(f"mpiboot.cli.{module}"), name or "auto")
    parser = flags.shown_by(lambda argv: function(argv, env))
    actions = [] if parser is None else parser._actions  # noqa: SLF001 - the library has no other way
    options = [one for action in actions for one in _options(action)]
    if not name:
        options.append(_VERSION)
    return Command(
        name=name,
        purpose=purpose,
        options=tuple(options),
        choices=tuple(
            str(one)
            for action in actions
            if not action.option_strings
            for one in action.choices or ()
        ),
        runs="-- CMD" in words,
    )


def _options(action: argparse.Action) -> list[Option]:
    """Describe what an action's flags do; the one that switches off is an option of its own."""
    if not action.option_strings:
        return []
    told = brief(action.help or "")
    if isinstance(action, flags.YES_OR_NO):
        off = tuple(one for one in action.option_strings if one.startswith("--no-"))
        on = tuple(one for one in action.option_strings if one not in off)
        return [Option(flags=on, help=told), Option(flags=off, help=_OFF + told)]
    values = _values(action)
    choices = tuple(map(str, action.choices or ())) or _allowed(action)
    kind = "choice" if choices else _KINDS.get(values[0] if values else "", "text")
    repeats = type(action).__name__ == "_AppendAction"
    return [
        Option(
            flags=tuple(action.option_strings), help=told, values=values, kind=kind,
            choices=choices, repeats=repeats,
        )
    ]  # fmt: skip


def _values(action: argparse.Action) -> tuple[str, ...]:
    """Return how the values that follow a flag are called."""
    if action.nargs == 0:
        return ()
    if isinstance(action.metavar, tuple):
        return action.metavar
    return (action.metavar or action.dest.upper(),)


def _allowed(action: argparse.Action) -> tuple[str, ...]:
    """Return the values that a setting allows: its parser takes any, to tell all problems at once."""
    return next(
        (
            tuple(choice for choice in spec.choices if choice)
            for spec in specs()
            if spec.name == action.dest and spec.flag in action.option_strings
        ),
        (),
    )
