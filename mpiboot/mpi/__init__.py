"""How does this mpirun want it? One module per implementation behind a Protocol."""

from __future__ import annotations

from mpiboot.errors import ConfigError
from mpiboot.mpi import intelmpi, mpich, openmpi4, openmpi5
from mpiboot.mpi.protocol import Dialect

DIALECTS: tuple[Dialect, ...] = (openmpi4, openmpi5, intelmpi, mpich)


def detect(version_text: str, mpirun: str) -> tuple[Dialect, str]:
    """Choose the dialect by the text of `mpirun --version`.

    Raises:
        ConfigError: it is none that is known.
    """
    for dialect in DIALECTS:
        version = dialect.recognise(version_text)
        if version is not None:
            return dialect, version
    first = version_text.strip().splitlines()[:1] or ["nothing"]
    known = ", ".join(dialect.NAME for dialect in DIALECTS)
    raise ConfigError(
        f"{mpirun} is not an MPI that mpiboot knows: --version says {first[0][:120]!r}",
        hint=f"install one of: {known}; or name its mpirun with --mpirun",
    )
