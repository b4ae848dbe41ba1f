"""Stand-ins for MPI's launchers: programs of the same names, first on PATH, that call the real ones.

They carry into the user's own `mpirun` what a variable cannot: other words for flags that this
version rejects, and the job's workers for `horovodrun`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from mpiboot.model import shims
from mpiboot.model.record import dataclass
from mpiboot.plan.ownjob import Job
from mpiboot.plan.ownrun import HOROVODRUN, LAUNCHERS

SSH = "ssh"
NAMES = (*sorted(LAUNCHERS), SSH)
OFF = (
    shims.VARIABLE
)  # `off` in the environment of a call: the real program, with the words as given

ASIDE = "MPIBOOT_ASIDE_"  # before the names of variables that the interpreter must not see

_HYDRA = "mpiexec.hydra"
_HYDRA_NAMES = frozenset((_HYDRA, "mpirun.mpich", "mpiexec.mpich"))
_OPENMPI_NAMES = frozenset(("orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"))
# Open MPI called by a path tells its daemons this path's prefix; from here nobody expects that.
_STANDARD = ("/usr/bin", "/usr/local/bin")


@dataclass(frozen=True, kw_only=True)
class Script:
    """A file of the directory of stand-ins."""

    path: str
    text: str
    mode: int


def belongs(name: str, resolved: str, *, openmpi: bool) -> bool:
    """Tell whether a program is this job's MPI's: two of them may lie side by side in /usr/bin.

    Args:
        name: of the program.
        resolved: its path without symbolic links.
        openmpi: whether that MPI is an Open MPI, and no kin of MPICH.
    """
    if name in (HOROVODRUN, SSH):
        return True
    names = {name, resolved.rpartition("/")[2]}
    return not names.intersection(_HYDRA_NAMES if openmpi else _OPENMPI_NAMES)


def directory_of(directory: str) -> str:
    """Return what comes first on PATH."""
    return f"{directory}/bin"


def lay_out(
    directory: str, programs: Mapping[str, str], job: Job, call: Sequence[str]
) -> tuple[Script, ...]:
    """Render the stand-ins, and the file that they read.

    Args:
        directory: private directory for them.
        programs: path of the real program for each name that is to have a stand-in.
        job: what they tell the real ones.
        call: how `link/standin.py` is called: an interpreter and its words.
    """
    real = {name: _real(name, programs, job) for name in programs}
    document = {"bin": directory_of(directory), "programs": real, "job": job.plain()}
    data = f"{directory}/standins.json"
    scripts = (
        Script(
            path=f"{directory_of(directory)}/{name}",
            text=_script([*call, data, name], one["path"]),
            mode=0o700,
        )
        for name, one in real.items()
    )
    return (Script(path=data, text=json.dumps(document), mode=0o600), *scripts)


def _real(name: str, programs: Mapping[str, str], job: Job) -> dict[str, str]:
    """Choose the real program and the name under which it is called."""
    path = programs[name]
    if job.dialect == "Intel MPI" and name in ("mpirun", "mpiexec") and _HYDRA in programs:
        # Intel's mpirun is a shell script that dies of a signal and leaves the job running.
        path = programs[_HYDRA]
    by_name = job.openmpi and path.rpartition("/")[0] in _STANDARD
    return {"path": path, "argv0": name if by_name else path}


def _script(call: Sequence[str], real: str) -> str:
    """Render one stand-in; the interpreter is the agent's and must not meet the job's libraries."""
    aside = (
        f'if [ "${{{name}+x}}" ]; then export {ASIDE}{name}="${name}"; unset {name}; fi'
        for name in ("LD_LIBRARY_PATH", "LD_PRELOAD")
    )
    lines = [
        "#!/bin/sh",
        f'if [ "${{{OFF}-}}" = off ]; then exec {shlex.quote(real)} "$@"; fi',
        *aside,
        f'exec {shlex.join(call)} "$@"',
    ]
    return "\n".join(lines) + "\n"
