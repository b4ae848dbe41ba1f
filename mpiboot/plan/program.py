"""What the job's command is: which MPI it is linked to, and whether it is a Python program."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from mpiboot.model.record import dataclass

_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
# Options of Python that take no value of their own; with any other we do not know where the script is.
_FLAGS = re.compile(r"-[bBdEiIOqsSuvx]+")
_LIBRARIES = (
    ("openmpi", re.compile(r"\b(?:libmpi\.so\.(?:20|40)|libopen-pal\.so|libmpi_usempi\w*\.so)")),
    ("mpich", re.compile(r"\b(?:libmpi\.so\.12|libmpich\.so|libmpi_abi\.so)")),
)
_NAMES = (
    ("openmpi", re.compile(r"\bOpen MPI\b")),
    ("mpich", re.compile(r"\bMPICH\b|Intel\(R\) MPI|MVAPICH")),
)

# Asks a Python what it has, without starting MPI. The library is loaded only where a program uses it.
PROBE = """
import importlib.util, json, sys
found = {"mpi4py": importlib.util.find_spec("mpi4py") is not None, "library": ""}
if found["mpi4py"] and sys.argv[1:] == ["library"]:
    import mpi4py
    mpi4py.rc.initialize = mpi4py.rc.finalize = False
    from mpi4py import MPI
    found["library"] = MPI.Get_library_version()
json.dump(found, sys.stdout)
"""


@dataclass(frozen=True, kw_only=True)
class Script:
    """A Python program in a command.

    Attributes:
        at: where in the command the script's path stands.
        python: the interpreter's word.
        path: the script's.
    """

    at: int
    python: str
    path: str


def script(command: Sequence[str]) -> Script | None:
    """Find the script in `python [flags] script.py …`; None for all else."""
    if not _PYTHON.fullmatch(command[0].rpartition("/")[2]):
        return None
    for at, word in enumerate(command[1:], start=1):
        if _FLAGS.fullmatch(word):
            continue
        if word.startswith("-"):
            return None
        return Script(at=at, python=command[0], path=word)
    return None


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was found out about the job's program.

    Attributes:
        family: MPI family that it is linked to: `openmpi`, `mpich`; empty when not known.
        library: how that was seen, for a message.
        aborts: index in the command before which `-m mpi4py` goes; None: nowhere.
    """

    family: str = ""
    library: str = ""
    aborts: int | None = None


def of_libraries(text: str) -> Look:
    """Read the output of ldd."""
    for family, pattern in _LIBRARIES:
        found = pattern.search(text)
        if found is not None:
            line = next(line for line in text.splitlines() if found.group() in line)
            return Look(family=family, library=" ".join(line.split())[:200])
    return Look()


def of_python(answer: bytes, found: Script) -> Look:
    """Read what PROBE answered about a script's interpreter."""
    try:
        data = json.loads(answer)
    except ValueError:
        return Look()
    if not isinstance(data, dict):
        return Look()
    text = data.get("library")
    library = " ".join(text.split())[:100] if isinstance(text, str) else ""
    family = next((name for name, pattern in _NAMES if pattern.search(library)), "")
    at = found.at if data.get("mpi4py") is True else None
    return Look(family=family, library=library, aborts=at)


def mismatch(look: Look, family: str, name: str) -> str:
    """Tell in words that a program and mpirun do not belong together; empty when they may."""
    if not look.family or look.family == family:
        return ""
    return (
        f"the program is linked to another MPI ({look.library}) than mpirun ({name}): every process"
        " would be rank 0 of 1"
    )


def command(job: Sequence[str], look: Look) -> list[str]:
    """Let an exception in one rank end the job: others may wait for that rank for ever."""
    if look.aborts is None:
        return list(job)
    return [*job[: look.aborts], "-m", "mpi4py", *job[look.aborts :]]
