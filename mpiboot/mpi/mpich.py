"""MPICH: hydra with its own proxy, measured on 4.0.2, 4.2.1 and 5.0.2."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpiboot.mpi import hydra
from mpiboot.mpi.protocol import BUSY, Export, Invocation, Needs, Request, Variable, Words

NAME = "MPICH"
FAMILY = hydra.FAMILY
PROGRAM = hydra.PROGRAM
DAEMONS = ("hydra_pmi_proxy",)
LOSES_STDIN = True
SPOILS_STDOUT = False
DIES_OF_SIGPIPE = False
CLOSES_EACH = False
SITE_FILES = ()
# UCX's pools, allocated at MPI_Init, also by a rank that is alone: 4.13 MiB; the job fails without.
NEEDS = Needs(rank_shm_bytes=(4 << 20) + (1 << 18), alone_too=True, rank_threads=2)

hostfile = hydra.hostfile
check_names = hydra.check_names
failures = hydra.failures
start_failed = hydra.start_failed
exit_code = hydra.exit_code
command_fault = hydra.command_fault
site_params = hydra.site_params
raw_output = hydra.raw_output
survivor_code = hydra.survivor_code

_VERSION = re.compile(r"^\s*Version:\s+(\S+)", re.MULTILINE)
_BINDINGS = ("none", "core", "socket", "numa", "hwthread", "board", "machine", "user:", "rr")


def recognise(version_text: str) -> str | None:
    """Tell the version of an MPICH; its text names hydra and never MPICH."""
    if "HYDRA build details" not in version_text:
        return None
    found = _VERSION.search(version_text)
    return found.group(1) if found else "?"


def unsupported(request: Request) -> list[str]:
    """Name what MPICH does not have."""
    found = hydra.unsupported(request, NAME)
    if request.bind_to and not request.bind_to.startswith(_BINDINGS):
        found.append(f"--bind-to {request.bind_to} is not on {NAME}")
    if request.timestamp_output:
        found.append(f"--timestamp-output is not on {NAME} where a worker is a plain sshd")
    return found


def invocation(request: Request) -> Invocation:
    """Render mpiexec's command line."""
    own = []
    if request.bind_to and not hydra.given(request, "bind-to"):
        own.append(Words(words=("-bind-to", request.bind_to), reason=request.why_bound))
    if request.tag_output:
        own.append(Words(words=("-prepend-rank",), reason="yours"))
    exports = [*request.exports, *_yielding(request)]
    words = hydra.words(
        request,
        call="the MPI found here",
        hosts=Words(words=("-f", request.hostfile), reason="the workers with their slots"),
        back=("-localhost", request.own_address),
        own=own,
        exported=hydra.environment(exports, request.environ),
    )
    return Invocation(words=words, variables=tuple(_variables(request)))


def _yielding(request: Request) -> Iterator[Export]:
    if request.busy and "MPIR_CVAR_ENABLE_HEAVY_YIELD" not in request.environ:
        yield Export(name="MPIR_CVAR_ENABLE_HEAVY_YIELD", value="1", reason=BUSY)


def _variables(request: Request) -> Iterator[Variable]:
    yield from hydra.way(
        request, launcher="HYDRA_LAUNCHER", program="HYDRA_LAUNCHER_EXEC",
        extra="HYDRA_LAUNCHER_EXTRA_ARGS",
    )  # fmt: skip
    reason = "hydra overlooks the last variable of its environment: let it be this one"
    yield Variable(name="MPIBOOT_LAST", value="1", reason=reason)
