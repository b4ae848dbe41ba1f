"""Do launcher and workers have the same MPI? Asked before mpirun, whose own words for it are poor."""

from __future__ import annotations

import re

from mpiboot.mpi import DIALECTS
from mpiboot.mpi.protocol import Dialect

_MAJOR_IN_NAME = re.compile(r" \d+$")


def called(version_text: str) -> str:
    """Call an MPI by name and version: `MPICH 4.0.2`; one that is not known by its own first line.

    Args:
        version_text: what `mpirun --version` says; nothing where there is no mpirun.
    """
    for dialect in DIALECTS:
        version = dialect.recognise(version_text)
        if version is not None:
            return f"{_name(dialect)} {version}"
    return version_text.strip().partition("\n")[0].strip()


def daemons(version_text: str) -> tuple[str, ...]:
    """Name the daemons of an MPI; none where it is not known."""
    for dialect in DIALECTS:
        if dialect.recognise(version_text) is not None:
            return dialect.DAEMONS
    return ()


def _name(dialect: Dialect) -> str:
    """Name a family of versions: there is a dialect for each major version of Open MPI."""
    return _MAJOR_IN_NAME.sub("", dialect.NAME)
