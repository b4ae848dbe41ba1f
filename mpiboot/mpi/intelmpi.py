"""Intel MPI: a hydra of its own, started without the shell script around it; measured on 2021.18."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpiboot.mpi import hydra
from mpiboot.mpi.protocol import Export, Invocation, Request, Variable, Words

NAME = "Intel MPI"
FAMILY = hydra.FAMILY
PROGRAM = hydra.PROGRAM  # its mpirun is a script that dies of a signal and leaves the job running
DAEMONS = ("hydra_pmi_proxy", "hydra_bstrap_proxy")
LOSES_STDIN = False
SPOILS_STDOUT = False
DIES_OF_SIGPIPE = True
SITE_FILES = ()

hostfile = hydra.hostfile
check_names = hydra.check_names
failures = hydra.failures
start_failed = hydra.start_failed
exit_code = hydra.exit_code

_VERSION = re.compile(r"Intel\(R\) MPI Library.*?Version\s+(\S+)", re.DOTALL)
_TREE = 16  # hosts up to which mpiexec logs in to all of them itself
_PINNING = {"none": "0", "core": "core", "socket": "socket", "numa": "numa", "hwthread": "1"}
_LIBRARIES = "LD_LIBRARY_PATH"


def recognise(version_text: str) -> str | None:
    """Tell the version of an Intel MPI."""
    found = _VERSION.search(version_text)
    return found.group(1) if found else None


def site_params(_text: str) -> dict[str, str]:
    """There is no file of parameters."""
    return {}


def unsupported(request: Request) -> list[str]:
    """Name what Intel MPI does not have."""
    found = hydra.unsupported(request, NAME)
    if request.bind_to and request.bind_to not in _PINNING:
        known = ", ".join(_PINNING)
        found.append(f"--bind-to {request.bind_to} is not on {NAME}: use one of {known}")
    return found


def invocation(request: Request) -> Invocation:
    """Render mpiexec.hydra's command line."""
    words = [Words(words=(request.mpirun,), reason="the MPI found here; not its shell script")]
    if not hydra.given(request, "f", "hostfile", "machinefile", "machine", "hosts"):
        reason = "the workers with their slots; any other flag would ignore the slots"
        words.append(Words(words=("-machinefile", request.hostfile), reason=reason))
    if not hydra.given(request, "np", "n"):
        words.append(Words(words=("-np", str(request.np)), reason="ranks to start"))
    if request.own_address and not hydra.given(request, "localhost", "iface"):
        reason = "proxies call back to this address, not to a name that they may not resolve"
        # The address alone does not do: the name is sent beside it, unless an interface is named.
        pair = ("-iface", request.own_interface)
        words.append(
            Words(
                words=pair if request.own_interface else ("-localhost", request.own_address),
                reason=reason,
            )
        )
    if request.tag_output or request.timestamp_output:
        pattern = " ".join(
            part
            for part, wanted in (("[%r]", request.tag_output), ("%t", request.timestamp_output))
            if wanted
        )
        words.append(Words(words=("-prepend-pattern", f"{pattern} "), reason="yours"))
    if request.wdir:
        words.append(Words(words=("-wdir", request.wdir), reason="yours"))
    exports = [*_of_this_mpi(request), *request.exports]
    words += hydra.environment(exports, request.environ, by_value=("BASH_FUNC_",))
    if request.mpirun_args:
        words.append(Words(words=tuple(request.mpirun_args), reason="yours"))
    words.append(Words(words=tuple(request.command), reason="the job"))
    return Invocation(words=tuple(words), variables=tuple(_variables(request)))


def _of_this_mpi(request: Request) -> Iterator[Export]:
    """Yield what the ranks need of Intel MPI itself: pinning, and its libraries."""
    pin = _PINNING.get(request.bind_to, "")
    taken = {export.name for export in request.exports}
    if pin and "I_MPI_PIN" not in request.environ:
        reason = request.why_bound
        yield Export(name="I_MPI_PIN", value="0" if pin == "0" else "1", reason=reason)
        if pin not in ("0", "1"):
            yield Export(name="I_MPI_PIN_DOMAIN", value=pin, reason=reason)
    if "/" in request.mpirun and _LIBRARIES not in taken:
        # A wheel has no script that sets this; without it a rank cannot load libfabric.
        own = request.mpirun.rsplit("/", 2)[0] + "/lib"
        theirs = request.environ.get(_LIBRARIES, "")
        value = ":".join(part for part in (own, theirs) if part)
        yield Export(name=_LIBRARIES, value=value, reason="Intel MPI's own libraries")


def _variables(request: Request) -> Iterator[Variable]:
    wanted = [
        Variable(
            name="I_MPI_HYDRA_BOOTSTRAP", value="ssh", reason="over ssh, whatever else is here"
        )
    ]
    if request.nodes > _TREE:
        reason = "workers need no key to log in to each other"
        wanted.append(
            Variable(name="I_MPI_HYDRA_BRANCH_COUNT", value=str(request.nodes), reason=reason)
        )
    yield from hydra.unless_set(request.environ, wanted)
    name = "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"
    reason = "user, port, key and pinned host keys"
    yield Variable(name=name, value=hydra.extra_args(request, name), reason=reason)


def command_fault(stderr: str, *, exists: bool) -> int | None:  # noqa: ARG001 - hydra's words decide
    """Tell 127 or 126 for a program that is not there or cannot be executed."""
    return hydra.command_fault(stderr)


def survivor_code(_stderr: str) -> int | None:
    """There is no code of its own for that."""
    return None
