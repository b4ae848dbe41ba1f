"""Command lines with `argparse`, which only those load that are given words.

A container's agent usually has its settings from the environment: the library and a parser of all
settings would cost each of its starts some milliseconds, and a worker keeps what it has loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from mpiboot.errors import UsageError
from mpiboot.model.options import DEFAULT_CONFIG, nearest
from mpiboot.model.settings import specs

YES_OR_NO = argparse.BooleanOptionalAction


class _Parser(argparse.ArgumentParser):
    """A parser that raises our usage error where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see {self.prog} --help")


def parser(prog: str, role: str, description: str) -> argparse.ArgumentParser:
    """Build the parser of one command from the declarations; values stay raw text."""
    made = _Parser(
        prog=prog, description=description, allow_abbrev=False, argument_default=argparse.SUPPRESS
    )
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
                made.add_argument(
                    *flags, dest=spec.name, action=argparse.BooleanOptionalAction, help=note
                )
            case "words" | "sources":
                made.add_argument(*flags, action="append", help=note, **common)
            case "pairs":
                common["metavar"] = tuple(spec.metavar.split())
                made.add_argument(*flags, action="append", nargs=2, help=note, **common)
            case _:
                made.add_argument(*flags, help=note, **common)
    return made


def bare(prog: str, description: str) -> argparse.ArgumentParser:
    """Build the parser of a command that takes no settings as flags."""
    return _Parser(prog=prog, description=description, allow_abbrev=False)


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
