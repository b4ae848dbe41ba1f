"""The MPIs that tests start jobs with: Debian's, and those that come as wheels.

@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_x(mpi, agents):
    agents.workers(2, **mpi.pod)
    launcher = agents.launcher(*mpi.program("ring.py"), options=mpi.options)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mpiboot import mpi as dialects
from mpiboot.mpi.protocol import Dialect
from tests.helpers.agents import PROGRAMS

ROOT = Path(__file__).parents[2]
WHEELS = Path(os.environ.get("MPIBOOT_TEST_MPI", ROOT / ".mpi"))


@dataclass(frozen=True, kw_only=True)
class Mpi:
    """One installation.

    Attributes:
        name: of the dialect, in one word.
        home: its prefix.
        python: an interpreter with an mpi4py that finds this MPI.
    """

    name: str
    home: Path
    python: Path

    def __str__(self) -> str:
        return self.name

    @property
    def options(self) -> tuple[str, ...]:
        """What tells a launcher to use it."""
        return () if self.home == Path("/usr") else ("--mpi-home", str(self.home))

    @property
    def hydra(self) -> bool:
        """Tell whether it is one of MPICH's kin."""
        return self.name in ("mpich", "intelmpi")

    @property
    def dialect(self) -> Dialect:
        """The module that speaks its tongue."""
        (found,) = [
            one for one in dialects.DIALECTS if one.NAME.replace(" ", "").lower() == self.name
        ]
        return found

    def python_program(self, name: str, *words: str) -> tuple[str, ...]:
        """Return the command line of a program in tests/helpers/programs."""
        return (str(self.python), "-u", str(PROGRAMS / name), *words)

    def need(self) -> None:
        """Skip the test where this MPI is not on the machine."""
        if not (self.home / "bin/mpirun").exists() or not self.python.exists():
            pytest.skip(f"{self.name} is not in {self.home}: run .ci/mpis")

    @property
    def pod(self) -> dict[str, Any]:
        """What a pod of a job with this MPI has in its environment, as its image would."""
        if self.home == Path("/usr"):
            return {}
        path = f"{self.home}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return {"env": {"PATH": path}}


def _wheel(name: str) -> Mpi:
    home = WHEELS / name
    return Mpi(name=name, home=home, python=home / "bin/python")


OPENMPI4 = Mpi(name="openmpi4", home=Path("/usr"), python=Path("/usr/bin/python3"))
MPIS: Sequence[Mpi] = (OPENMPI4, _wheel("openmpi5"), _wheel("mpich"), _wheel("intelmpi"))
