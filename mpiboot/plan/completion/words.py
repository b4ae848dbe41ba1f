"""The words of the command line: commands with their options, and what may follow each option."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from mpiboot.model.record import dataclass

Kind = Literal["file", "directory", "choice", "text"]

FOLLOWS = "the job's command follows"  # what is said of --

_MOST = 76  # characters of a description: shells show it on one line beside the word


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of a command.

    Attributes:
        flags: how it can be written; the long one comes last.
        help: what it does, in a few words.
        values: how each value that has to follow is called.
        kind: what such a value is.
        choices: the values allowed; empty: any.
        repeats: whether it may be given more than once.
    """

    flags: tuple[str, ...]
    help: str
    values: tuple[str, ...] = ()
    kind: Kind = "text"
    choices: tuple[str, ...] = ()
    repeats: bool = False


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command.

    Attributes:
        name: its name; empty: the one that nobody names.
        purpose: what it is for.
        options: all of them.
        choices: the words of which one may follow without an option.
        runs: whether a command of the job may follow after --.
    """

    name: str
    purpose: str
    options: tuple[Option, ...] = ()
    choices: tuple[str, ...] = ()
    runs: bool = False


def named(commands: Iterable[Command]) -> list[Command]:
    """Return the commands that have a name."""
    return [command for command in commands if command.name]


def brief(text: str) -> str:
    """Shorten a help to its first part, and that to what fits beside a word."""
    first = text.partition("; ")[0].partition(" (MPIBOOT_")[0].strip()
    if len(first) <= _MOST:
        return first
    return first[:_MOST].rpartition(" ")[0].rstrip(",:") + " …"


def alike(commands: Sequence[Command]) -> dict[Option, tuple[str, ...]]:
    """Say of each option which commands have it, in the order in which they come."""
    found: dict[Option, tuple[str, ...]] = {}
    for command in commands:
        for option in command.options:
            found[option] = (*found.get(option, ()), command.name)
    return found


def together(commands: Sequence[Command]) -> dict[tuple[str, ...], list[Option]]:
    """Return the options that the same commands have, by the names of these."""
    found: dict[tuple[str, ...], list[Option]] = {}
    for option, users in alike(commands).items():
        found.setdefault(users, []).append(option)
    return found


def quoted(text: str) -> str:
    """Quote a text as POSIX shells and zsh read it back, whatever is in it."""
    return "'" + text.replace("'", "'\\''") + "'"
