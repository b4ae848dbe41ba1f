"""Which MPI is installed here, and what its site says."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpiboot import mpi
from mpiboot.errors import ConfigError, MpibootError
from mpiboot.model.record import dataclass, field
from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan import agreement, ownrun, program, standins
from mpiboot.plan.ownrun import Own
from mpiboot.plan.program import Look
from mpiboot.roles import looking
from mpiboot.runtime import files, inspect, openssh
from mpiboot.runtime.children import Children

_VERSION_S = 20.0
# Where a plain `mpirun` finds its daemon on the workers without being told a prefix.
_STANDARD = ("/usr", "/usr/local")
_ALIASES = ("mpiexec", "orterun", "prterun")


@dataclass(frozen=True, kw_only=True)
class Installation:
    """The MPI that will be called.

    Attributes:
        mpirun: how to call it: by name in a standard place, else by path, which tells it the
            prefix that its daemons have on the workers.
        version_text: what `--version` says.
        dialect: how it wants to be called.
        version: its version.
        mpi: name and version together, as workers tell theirs.
        site_params: parameters that its site file sets.
        look: what was found out about the job's program.
        own: the launcher that the job's command starts itself; None: it starts none.
        programs: path of each real program that a stand-in goes before.
        prte: path of the program that starts daemons which stay, where one that uses them is beside
            it; else empty.
    """

    mpirun: str
    dialect: Dialect
    version: str
    mpi: str
    site_params: Mapping[str, str]
    look: Look
    own: Own | None = None
    programs: Mapping[str, str] = field(default_factory=dict)
    prte: str = ""


async def find(
    settings: Settings, env: Mapping[str, str], children: Children, command: Sequence[str]
) -> Installation:
    """Find and ask mpirun, and look at the job's program.

    Raises:
        ConfigError: there is none, it is unknown, there is no ssh client for it, or the program
            belongs to another MPI.
    """
    own = _own(settings, command, env)
    # A script may call mpirun again; mpirun alone ends with the first worker that it loses.
    if settings.elastic and (own is None or (own.at is not None and not own.horovodrun)):
        raise ConfigError(
            "--elastic is for horovodrun, or a script that starts its ranks itself: mpirun cannot"
            " go on without a worker",
            hint="leave --elastic out; --max-restarts starts a job anew",
        )
    path = _mpirun(settings, env, own)
    try:
        asked = children.run([path, "--version"], timeout_s=_VERSION_S, env=env)
        done, look = await asyncio.gather(asked, looking.look(command, env, children))
    except MpibootError as fault:
        raise ConfigError(f"mpirun: {fault}") from fault
    dialect, version = mpi.detect(done.text, path)
    _check_way(settings.rsh_agent, env)
    wrong = program.mismatch(look, dialect.FAMILY, f"{dialect.NAME} {version}")
    if wrong:
        raise ConfigError(wrong, hint="choose the right one with --mpi-home or --mpirun")
    prefix = Path(os.path.realpath(path)).parent.parent
    prte = _prte(path)
    path = _program(dialect, path)
    given = settings.mpirun or settings.mpi_home
    standard = str(Path(path).parent.parent) in _STANDARD
    return Installation(
        mpirun=path if given or not standard else Path(path).name,
        dialect=dialect,
        version=version,
        mpi=agreement.called(done.text),
        site_params=_site_params(dialect, prefix),
        look=look,
        own=own,
        programs=_programs(path, env, own, dialect) if own is not None else {},
        prte=prte,
    )


def _check_way(rsh_agent: str, env: Mapping[str, str]) -> None:
    """Refuse to go on without the program that reaches workers."""
    if not rsh_agent:
        openssh.client(env)
    elif not os.access(rsh_agent, os.X_OK):
        raise ConfigError(
            f"{rsh_agent}, which is to reach workers in place of ssh, cannot be executed",
            hint="check --rsh-agent, and the mode of the file",
        )


def _own(settings: Settings, command: Sequence[str], env: Mapping[str, str]) -> Own | None:
    """Find a launcher in the command, or in the script that it runs."""
    if not settings.own_launcher:
        return None
    name = ownrun.script_of(command)
    path = inspect.find_program(name, env) if name and "/" not in name else name
    shell = name != command[0]
    readable = path and (shell or files.begins_with(path, b"#!"))
    return ownrun.find(command, files.head(path) if path and readable else None)


def _programs(mpirun: str, env: Mapping[str, str], own: Own, dialect: Dialect) -> dict[str, str]:
    """Find the real programs behind the names of launchers, and those of this MPI by its prefix."""
    found = {name: inspect.find_program(name, env) for name in standins.NAMES}
    beside = {name: str(Path(mpirun).with_name(name)) for name in standins.NAMES}
    found |= {name: path for name, path in beside.items() if os.access(path, os.X_OK)}
    if "/" in own.program:
        found[own.name] = inspect.behind_shim(own.program)
    openmpi = dialect.FAMILY == "openmpi"
    return {
        name: path
        for name, path in found.items()
        if path and standins.belongs(name, os.path.realpath(path), openmpi=openmpi)
    }


def _mpirun(settings: Settings, env: Mapping[str, str], own: Own | None) -> str:
    if settings.mpirun:
        return inspect.behind_shim(settings.mpirun)
    if settings.mpi_home:
        return f"{settings.mpi_home.rstrip('/')}/bin/mpirun"
    if own is not None and not own.horovodrun:
        # Several MPIs may lie side by side: the one that the command names counts.
        by_path = "/" in own.program
        path = inspect.behind_shim(own.program) if by_path else inspect.find_program(own.name, env)
        if path is not None and os.access(path, os.X_OK):
            # Others than `mpirun` tell the version of a part of it, or nothing.
            sibling = str(Path(path).with_name("mpirun"))
            return sibling if own.name in _ALIASES and os.access(sibling, os.X_OK) else path
    path = inspect.find_program("mpirun", env)
    if path is None:
        raise ConfigError(
            "no mpirun on PATH",
            hint="install an MPI in this image, or name it with --mpi-home or --mpirun",
        )
    return path


def _program(dialect: Dialect, mpirun: str) -> str:
    """Prefer the program that this MPI's `mpirun` is a script around, or another name of.

    Debian keeps several MPIs side by side behind links, so the one beside the link's target counts.
    """
    for directory in (Path(mpirun).parent, Path(os.path.realpath(mpirun)).parent):
        path = directory / dialect.PROGRAM
        if os.access(path, os.X_OK):
            return str(path)
    return mpirun


def _prte(mpirun: str) -> str:
    """Find prte beside mpirun, where prun is there, too: an Open MPI without it cannot use a DVM."""
    for directory in (Path(mpirun).parent, Path(os.path.realpath(mpirun)).parent):
        if all(os.access(directory / name, os.X_OK) for name in ("prte", "prun")):
            return str(directory / "prte")
    return ""


def _site_params(dialect: Dialect, prefix: Path) -> dict[str, str]:
    for name in dialect.SITE_FILES:
        text = files.read_text(str(prefix / name))
        if text is not None:
            return dialect.site_params(text)
    return {}
