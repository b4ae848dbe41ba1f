"""Command lines with `argparse`, which only those load that are given words.

A container's agent usually has its settings from the environment: the library and a parser of all
settings would cost each of its starts some milliseconds, and a worker keeps what it has loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from mpiboot.errors import UsageError
from mpiboot.model.options import DEFAULT_CONFIG, nearest
from mpiboot.model.settings import specs

YES_OR_NO = argparse.BooleanOptionalAction


# Who wants to see the parsers that answer --help, in place of people who read it.
_watching: list[list[argparse.ArgumentParser]] = []


class _Parser(argparse.ArgumentParser):
    """A parser that raises our usage error where argparse would exit.

    Attributes:
        settings: the role whose settings are options, too, which others read; None: there are none.
    """

    settings: str | None = None

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see {self.prog} --help")

    def print_help(self, file: Any = None) -> None:
        """Show all options, also those that others read."""
        if self.settings is not None:
            usage = self.format_usage().removeprefix("usage: ").strip()
            whole = _Parser(
                prog=self.prog, usage=f"{usage} [settings]", description=self.description,
                parents=[self], add_help=False,
            )  # fmt: skip
            _add_settings(whole.add_argument_group("settings"), self.settings)
            whole.print_help(file)
        elif _watching:
            _watching[-1].append(self)
        else:
            super().print_help(file)


def parser(
    prog: str, role: str, description: str, *, synopsis: str = "[options]"
) -> argparse.ArgumentParser:
    """Build the parser of one command from the declarations; values stay raw text.

    Args:
        prog: how the command is called.
        role: whose settings it takes; empty: those of all roles.
        description: what it does.
        synopsis: the words that may follow: all options by name would hide what it does.
    """
    made = _Parser(
        prog=prog, usage=f"%(prog)s {synopsis}", description=description, allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )  # fmt: skip
    _add_settings(made, role)
    return made


def _add_settings(made: argparse._ActionsContainer, role: str) -> None:
    made.add_argument(
        "--config", metavar="FILE", help=f"settings as YAML (default {DEFAULT_CONFIG})"
    )
    for spec in specs(role):
        text = spec.help.replace("%", "%%")
        flags = [*spec.short, spec.flag]
        common: dict[str, Any] = {"dest": spec.name, "metavar": spec.metavar or None}
        note = f"{text} ({spec.variable}; default {spec.shown_default})"
        match spec.kind:
            case "flag":
                made.add_argument(*flags, dest=spec.name, action=YES_OR_NO, help=note)
            case "words" | "sources":
                made.add_argument(*flags, action="append", help=note, **common)
            case "pairs":
                common["metavar"] = tuple(spec.metavar.split())
                made.add_argument(*flags, action="append", nargs=2, help=note, **common)
            case _:
                made.add_argument(*flags, help=note, **common)


def bare(prog: str, description: str, settings: str | None = None) -> argparse.ArgumentParser:
    """Build the parser of a command's own options.

    Args:
        prog: how the command is called.
        description: what it does.
        settings: the role whose settings the command takes as flags, too, and reads by itself from
            what this parser leaves; empty: those of all roles; None: it takes none.
    """
    made = _Parser(prog=prog, description=description, allow_abbrev=False)
    made.settings = settings
    return made


def shown_by(call: Callable[[Sequence[str]], object]) -> argparse.ArgumentParser | None:
    """Return the parser with which a command answers `--help`; nothing is printed.

    Args:
        call: the command, which is given its words.
    """
    seen: list[argparse.ArgumentParser] = []
    _watching.append(seen)
    try:
        call(["--help"])
    except SystemExit:
        pass
    finally:
        _watching.remove(seen)
    return seen[0] if seen else None


def parse(made: argparse.ArgumentParser, argv: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Read flags as raw values; return them and the problems found."""
    try:
        known, rest = made.parse_known_args(list(argv))
    except UsageError as fault:
        return {}, [str(fault)]
    unknown = [word for word in rest if word.startswith("-")]
    names = [flag for action in made._actions for flag in action.option_strings]  # noqa: SLF001
    asked = [word.partition("=")[0] for word in unknown]  # a value may be a secret
    problems = [f"unknown option {flag}{nearest(flag, names)}" for flag in asked]
    if rest and not unknown:
        problems.append(f"unexpected word {rest[0]!r}: the job's command goes after --")
    return vars(known), problems
