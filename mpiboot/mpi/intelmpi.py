"""Intel MPI: a hydra of its own, started without the shell script around it; measured on 2021.18."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpiboot.mpi import hydra
from mpiboot.mpi.protocol import BUSY, Export, Invocation, Needs, Request, Variable, Words

NAME = "Intel MPI"
FAMILY = hydra.FAMILY
PROGRAM = hydra.PROGRAM  # its mpirun is a script that dies of a signal and leaves the job running
DAEMONS = ("hydra_pmi_proxy", "hydra_bstrap_proxy")
LOSES_STDIN = False
SPOILS_STDOUT = False
DIES_OF_SIGPIPE = True
CLOSES_EACH = False
SITE_FILES = ()
# One file for all ranks of a host, of more than 1 GiB, and allocated as it is used: large messages to
# all others used 4.2 MiB a rank.
NEEDS = Needs(rank_shm_bytes=5 << 20, alone_too=False, rank_threads=1)

hostfile = hydra.hostfile
check_names = hydra.check_names
failures = hydra.failures
start_failed = hydra.start_failed
exit_code = hydra.exit_code
command_fault = hydra.command_fault
site_params = hydra.site_params
raw_output = hydra.raw_output
survivor_code = hydra.survivor_code

_VERSION = re.compile(r"Intel\(R\) MPI Library.*?Version\s+(\S+)", re.DOTALL)
_TREE = 16  # hosts up to which mpiexec logs in to all of them itself
_PINNING = {"none": "0", "core": "core", "socket": "socket", "numa": "numa", "hwthread": "1"}
_LIBRARIES = "LD_LIBRARY_PATH"


def recognise(version_text: str) -> str | None:
    """Tell the version of an Intel MPI."""
    found = _VERSION.search(version_text)
    return found.group(1) if found else None


def unsupported(request: Request) -> list[str]:
    """Name what Intel MPI does not have."""
    found = hydra.unsupported(request, NAME)
    if request.bind_to and request.bind_to not in _PINNING:
        known = ", ".join(_PINNING)
        found.append(f"--bind-to {request.bind_to} is not on {NAME}: use one of {known}")
    return found


def invocation(request: Request) -> Invocation:
    """Render mpiexec.hydra's command line."""
    own = []
    if request.tag_output or request.timestamp_output:
        pattern = " ".join(
            part
            for part, wanted in (("[%r]", request.tag_output), ("%t", request.timestamp_output))
            if wanted
        )
        own.append(Words(words=("-prepend-pattern", f"{pattern} "), reason="yours"))
    # The address alone does not do: the name is sent beside it, unless an interface is named.
    by_name = ("-iface", request.own_interface)
    exports = [*_of_this_mpi(request), *request.exports]
    words = hydra.words(
        request,
        call="the MPI found here; not its shell script",
        hosts=Words(
            words=("-machinefile", request.hostfile),
            reason="the workers with their slots; any other flag would ignore the slots",
        ),
        back=by_name if request.own_interface else ("-localhost", request.own_address),
        own=own,
        exported=hydra.environment(exports, request.environ, by_value=("BASH_FUNC_",)),
    )
    return Invocation(words=words, variables=tuple(_variables(request)))


def _of_this_mpi(request: Request) -> Iterator[Export]:
    """Yield what the ranks need of Intel MPI itself: pinning, and its libraries."""
    pin = _PINNING.get(request.bind_to, "")
    taken = {export.name for export in request.exports}
    if pin and "I_MPI_PIN" not in request.environ:
        reason = request.why_bound
        yield Export(name="I_MPI_PIN", value="0" if pin == "0" else "1", reason=reason)
        if pin not in ("0", "1"):
            yield Export(name="I_MPI_PIN_DOMAIN", value=pin, reason=reason)
    if request.busy and "I_MPI_WAIT_MODE" not in request.environ:
        yield Export(name="I_MPI_WAIT_MODE", value="1", reason=BUSY)
    if "/" in request.mpirun and _LIBRARIES not in taken:
        # A wheel has no script that sets this; without it a rank cannot load libfabric.
        own = request.mpirun.rsplit("/", 2)[0] + "/lib"
        theirs = request.environ.get(_LIBRARIES, "")
        value = ":".join(part for part in (own, theirs) if part)
        yield Export(name=_LIBRARIES, value=value, reason="Intel MPI's own libraries")


def _variables(request: Request) -> Iterator[Variable]:
    yield from hydra.way(
        request, launcher="I_MPI_HYDRA_BOOTSTRAP", program="I_MPI_HYDRA_BOOTSTRAP_EXEC",
        extra="I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
    )  # fmt: skip
    if request.nodes > _TREE:
        reason = "workers need no key to log in to each other"
        count = Variable(name="I_MPI_HYDRA_BRANCH_COUNT", value=str(request.nodes), reason=reason)
        yield from hydra.unless_set(request.environ, [count])
