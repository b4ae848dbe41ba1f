"""Shims: small scripts that stand where a program is called, and know where the real one is."""

from __future__ import annotations

from enum import Enum

from mpiboot.model.record import dataclass

# In the environment of a call: `off` goes past all shims and stand-ins; `inside`, which the agent
# sets for what it starts, goes past the shims alone.
VARIABLE = "MPIBOOT_SHIMS"
INSIDE = "inside"

_MARK = "# mpiboot shim of "
ENTRY_MARK = "# mpiboot entry"
HEAD_BYTES = 512  # the mark stands in the second line


class Kind(Enum):
    """What is at a path."""

    ABSENT = "nothing"
    OURS = "a shim"
    OTHER = "something else"


@dataclass(frozen=True, kw_only=True)
class Program:
    """A real program that is installed.

    Attributes:
        path: as it is called: of an sshd behind a shim, the shim's.
        target: the file that this leads to in the end, without links, and behind a shim.
        hydra: whether it is of MPICH's kin, whose programs look for their parts beside themselves.
    """

    path: str
    target: str
    hydra: bool = False


@dataclass(frozen=True, kw_only=True)
class File:
    """A script of ours to lay down.

    Attributes:
        place: its path.
        text: its content.
    """

    place: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Shim(File):
    """A script that stands for a program.

    Attributes:
        name: of the program.
        real: path by which the script calls it.
        aside: where the original goes, when the script takes its very place; empty: it comes first
            on PATH, and the original stays where it is.
        diverted: whether dpkg has to know of that, so that an upgrade does not undo it.
    """

    name: str
    real: str
    aside: str = ""
    diverted: bool = False


def mark(real: str) -> str:
    """Render the line by which a shim is known, and its real program found."""
    return f"{_MARK}{real}"


def real_of(head: str) -> str:
    """Read the real program's path in the beginning of a file; empty: the file is no shim."""
    line = _second_line(head)
    return line.removeprefix(_MARK) if line.startswith(_MARK) else ""


def kind_of(head: str | None) -> Kind:
    """Tell what a file is by its beginning; None: there is none."""
    if head is None:
        return Kind.ABSENT
    return Kind.OURS if _second_line(head).startswith((_MARK, ENTRY_MARK)) else Kind.OTHER


def _second_line(head: str) -> str:
    return head.partition("\n")[2].partition("\n")[0]
