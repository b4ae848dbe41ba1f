"""Daemons that stay between the mpiruns of one command: whether a job has them, and which call fits.

Measured on Open MPI 5.0.7. A call goes into the DVM only with words that mean the same there: several
programs at once take a daemon down, parameters of the runtime were read when it began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mpiboot.model.record import dataclass
from mpiboot.plan import ownflags
from mpiboot.plan.ownflags import Option
from mpiboot.plan.ownjob import Job

NAMES = ("mpirun", "mpiexec", "orterun", "prterun")  # whose calls are calls of PRRTE
DIRECTORY = "dvm"  # below the launcher's private one
STATE = "state.json"
READY = "DVM ready"  # what prte says once all daemons have answered

# Options that a running DVM understands as an mpirun of its own would.
_FITTING = frozenset(
    (
        "np", "n", "c", "x", "wd", "wdir", "map-by", "bind-to", "rank-by", "oversubscribe",
        "allow-run-as-root", "report-bindings", "tag-output", "timestamp-output", "output", "stdin",
    )
)  # fmt: skip
_MCA = ("mca", "gmca", "omca", "gomca")
# Frameworks of the ranks themselves; all others may be the runtime's.
_OF_RANKS = frozenset(
    (
        "mpi", "ompi", "opal", "pml", "btl", "mtl", "coll", "osc", "io", "topo", "op", "smsc", "part",
        "sharedfp", "fcoll", "fbtl", "fs", "accelerator", "mpool", "rcache",
    )
)  # fmt: skip
_HOSTS = ("H", "host")
_HOSTFILES = ("hostfile", "machinefile", "default-hostfile")
_RUNTIME = ("PRTE_", "PMIX_")


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of mpirun as the DVM would get it.

    Attributes:
        args: without the program's own name.
        unfit: why the DVM must not get it; empty: it may.
    """

    args: tuple[str, ...]
    unfit: str = ""


def missing(
    *, dialect: str, program: str, wrapped: bool, elastic: bool, rsh_agent: bool, here: bool
) -> str:
    """Tell why a job has no daemons that stay; empty where it can have them.

    Args:
        dialect: name of its MPI.
        program: path of prte, where prun is beside it, too; else empty.
        wrapped: whether ranks are started through the wrapper: a DVM's mpirun has no codes of its own
            for a program that cannot be run.
        elastic: whether workers come and go.
        rsh_agent: whether something else than ssh reaches the workers.
        here: whether ranks run in the launcher's container, too: those get the DVM's environment.
    """
    reasons = (
        (dialect != "Open MPI 5", f"{dialect} has none"),
        (not program, "this Open MPI has no prte with prun beside its mpirun"),
        (elastic, "workers come and go in an elastic job"),
        (rsh_agent, "workers are not reached by ssh"),
        (here, "ranks run in the launcher's own container, too"),
        (not wrapped, "ranks are started without their wrapper"),
    )
    return next((why for applies, why in reasons if applies), "")


def call(args: Sequence[str], job: Job) -> Call:
    """Look at the arguments of a call, after they were put into the words of this mpirun.

    Hosts that are the job's own are left out: the DVM has them already.
    """
    parts = ownflags.contexts(job.dialect, args)
    if len(parts) > 1:
        return Call(args=tuple(args), unfit="several programs")
    part = parts[0]
    if not part.program or not part.rest:
        return Call(args=tuple(args), unfit=part.rest[0] if part.rest else "no program")
    kept = [option for option in part.options if not _is_jobs(option, job)]
    unfit = next(_unfit(kept), "")
    words = [word for option in kept for word in option.words]
    return Call(args=tuple(args) if unfit else (*words, *part.rest), unfit=unfit)


def _is_jobs(option: Option, job: Job) -> bool:
    """Tell whether an option names the hosts of the job with all of their slots."""
    if option.name in _HOSTFILES:
        return option.value == job.hostfile
    hosts = ",".join(f"{name}:{slots}" for name, slots in job.hosts)
    return option.name in _HOSTS and option.value == hosts


def _unfit(options: Sequence[Option]) -> Iterator[str]:
    for option in options:
        if option.name in _MCA:
            if option.values[0].partition("_")[0] not in _OF_RANKS:
                yield " ".join(option.words)
        elif option.name not in _FITTING:
            yield option.words[0]


def runtime_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a DVM has read once, when it began."""
    return {name: value for name, value in environ.items() if name.startswith(_RUNTIME)}
