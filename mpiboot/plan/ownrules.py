"""What becomes of one option of the user's, by MPI: one rule for each thing that goes wrong there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mpiboot.model.record import dataclass, field
from mpiboot.plan.ownflags import Option
from mpiboot.plan.ownjob import RENAMED, Job, with_config

HOSTS = ("H", "host", "hosts")
_HOSTFILES = ("hostfile", "machinefile", "default-hostfile", "f", "machine")
_SSH_ARGS = ("plm_rsh_args", "plm_ssh_args")
_MCA = ("mca", "gmca", "omca", "gomca", "prtemca")
# Open MPI 5.0.11 knows these with two dashes only; after one it finds no value, or no such option.
_TWO_DASHES = ("bind-to", "map-by", "rank-by", "runtime-options")
_GONE = (
    "q", "quiet", "novm", "do-not-resolve", "fwd-mpirun-port", "use-regexp",
    "enable-instant-on-support",
)  # fmt: skip
_REWORDED = {
    "v": ("--verbose",),
    "bind-to-none": ("--bind-to", "none"),
    "bind-to-socket": ("--bind-to", "package"),
    "display-diffable-map": ("--display", "map"),
    "display-devel-allocation": ("--display", "allocation"),
}
_LINES = frozenset(("tag", "timestamp"))  # forms of output that come with no qualifier
_HYDRA_REWORDED = {
    "wd": "-wdir",
    "npernode": "-ppn",
    "tag-output": "-prepend-rank",
    "H": "-hosts",
}


@dataclass(frozen=True, kw_only=True)
class Change:
    """What becomes of one option.

    Attributes:
        words: in its place; nothing: it is left out.
        why: the reason.
        variables: what moves into the environment.
    """

    words: tuple[str, ...]
    why: str
    variables: Mapping[str, str] = field(default_factory=dict)


Rule = Callable[[Option, Job], Change | None]


def _known_hosts(option: Option, job: Job) -> Change | None:
    """Name workers as the hostfile and ssh_config do."""
    if option.name not in HOSTS or (option.name == "H" and not job.openmpi):
        return None
    value = _as_mpirun_sees(option.value, job)
    if value == option.value:
        return None
    flag = option.words[0].partition("=")[0]
    words = (f"{flag}={value}",) if option.glued else (flag, value)
    return Change(words=words, why="the worker's name in this job's hostfile")


def _same_hostfile(option: Option, job: Job) -> Change | None:
    """Take the job's hostfile for the one that its hosts were read from.

    It has the same hosts in the form that this MPI reads, and under a name by which mpirun knows its
    own container where that is one of them.
    """
    if option.name not in _HOSTFILES or not job.given or option.value != job.given:
        return None
    flag = option.words[0].partition("=")[0]
    words = (f"{flag}={job.hostfile}",) if option.glued else (flag, job.hostfile)
    return Change(words=words, why="the same workers, as this mpirun knows them")


def _counted_hosts(option: Option, job: Job) -> Change | None:
    """Say to Intel MPI apart from the hosts how many ranks each of them takes."""
    pairs = [host.rpartition(":") for host in option.value.split(",")]
    counts = {count for _, colon, count in pairs if colon}
    if option.name not in HOSTS or len(counts) != 1 or not all(colon for _, colon, _ in pairs):
        return None
    names = _as_mpirun_sees(",".join(name for name, _, _ in pairs), job)
    why = "Intel MPI wants the number apart, and the hosts in one word"
    return Change(words=("-hosts", names, "-ppn", counts.pop()), why=why)


def _as_mpirun_sees(hosts: str, job: Job) -> str:
    shown = []
    for host in hosts.split(","):
        name, colon, slots = host.partition(":")
        shown.append(f"{job.names.get(name, name)}{colon}{slots}")
    return ",".join(shown)


def _joined_mca(option: Option, job: Job) -> Change | None:
    """Keep our ssh configuration where the user has further words for ssh."""
    if option.name not in _MCA or option.glued or option.values[0] not in _SSH_ARGS:
        return None
    value = with_config(job, option.value)
    if value == option.value:
        return None
    words = (*option.words[:2], value)
    return Change(words=words, why="ssh needs this job's keys and host keys, too")


def _renamed_mca(option: Option, job: Job) -> Change | None:
    """Let Open MPI 5 find runtime parameters under the names that it reads."""
    if option.name not in ("mca", "gmca") or option.glued:
        return None
    old, value = option.values
    if not old.startswith("orte_") or old not in RENAMED:
        return None
    why = f"Open MPI {job.version} ignores the old name"
    return Change(words=("--prtemca", RENAMED[old], value), why=why)


def _raw_output(option: Option, job: Job) -> Change | None:
    """Keep half lines apart in the user's own form of output, too."""
    kinds = option.value.split(",") if option.name == "output" and option.values else []
    if not job.raw_output or not kinds or not _LINES.issuperset(kinds):
        return None
    why = "half a line of one rank would come out with another's, and on its stream"
    return Change(words=("--output", option.value + job.raw_output), why=why)


def _openmpi5(option: Option, job: Job) -> Change | None:
    mpi = f"Open MPI {job.version}"
    if option.name in _TWO_DASHES and (option.dashes == "-" or option.glued):
        wanted = "a blank, no equals sign" if option.glued else "two dashes"
        words = (f"--{option.name}", option.value)
        return Change(words=words, why=f"{mpi} wants {wanted}")
    if option.name == "rf" and option.values:
        words = ("--map-by", f"rankfile:file={option.value}")
        return Change(words=words, why=f"{mpi} does not know it")
    if option.name in _REWORDED and option.words[0] != "--v":
        return Change(
            words=_REWORDED[option.name], why=f"{mpi} does not know it, or reads it wrongly"
        )
    if option.name in _GONE:
        return Change(words=(), why=f"{mpi} does not know it")
    return None


def _hydra(option: Option, job: Job) -> Change | None:
    """Replace what only Open MPI has."""
    why = f"{job.dialect} {job.version} does not know it"
    if option.name == "x":
        name, equals, value = option.value.partition("=")
        if equals:
            return Change(words=("-genv", name, value), why=why)
        return Change(words=(), why=f"{job.dialect} hands on every variable")
    if option.name in _HYDRA_REWORDED:
        values = option.values
        if option.name == "H":
            values = (_as_mpirun_sees(option.value, job),)
        return Change(words=(_HYDRA_REWORDED[option.name], *values), why=why)
    if option.name in _MCA:
        return Change(words=(), why=f"{job.dialect} has no MCA parameters")
    if option.name == "allow-run-as-root":
        return Change(
            words=(), why=f"{job.dialect} needs no leave for root, and has no word for it"
        )
    if option.name == "oversubscribe":
        return Change(words=(), why=f"{job.dialect} always allows it, and has no word for it")
    if option.name in ("rank-by", "timestamp-output"):
        return Change(words=(), why=why)
    return None


def _mpich(option: Option, job: Job) -> Change | None:
    if option.name == "bootstrap-exec-args":
        why = f"MPICH {job.version} takes words for ssh from its environment only"
        value = with_config(job, option.value)
        return Change(words=(), why=why, variables={"HYDRA_LAUNCHER_EXTRA_ARGS": value})
    return None


def _intel(option: Option, job: Job) -> Change | None:
    if option.name == "bootstrap-exec-args":
        value = with_config(job, option.value)
        if value == option.value:
            return None
        why = "ssh needs this job's keys and host keys, too"
        return Change(words=("-bootstrap-exec-args", value), why=why)
    if option.name == "N":
        return Change(words=("-ppn", option.value), why="Intel MPI does not know it")
    if option.name == "bind-to" and option.value == "none":
        why = "Intel MPI accepts that word and pins all the same"
        return Change(words=(), why=why, variables={"I_MPI_PIN": "0"})
    if option.name == "report-bindings":
        return Change(words=(), why="Intel MPI does not know it; I_MPI_DEBUG=4 shows pinning")
    return None


RULES: Mapping[str, tuple[Rule, ...]] = {
    "Open MPI 4": (_same_hostfile, _known_hosts, _joined_mca),
    "Open MPI 5": (_same_hostfile, _known_hosts, _joined_mca, _renamed_mca, _raw_output, _openmpi5),
    "MPICH": (_same_hostfile, _known_hosts, _hydra, _mpich),
    "Intel MPI": (_same_hostfile, _counted_hosts, _known_hosts, _hydra, _intel),
}
