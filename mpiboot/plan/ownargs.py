"""The user's own words for mpirun, in the tongue of the mpirun that is here.

Only what this version rejects, or takes for something else, is put into other words. Words from the
program on are never touched, nor is anything behind an option that is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mpiboot.plan import ownflags
from mpiboot.plan.ownflags import Context, Option
from mpiboot.plan.ownjob import RENAMED, Job, with_config

_HOSTS = ("H", "host", "hosts")
_INTEL_HOSTS = (
    *_HOSTS, "hostfile", "machinefile", "machine", "f", "file", "configfile", "hosts-group",
    "ppn", "perhost", "grr", "rr", "N", "npernode",
)  # fmt: skip
_SSH_ARGS = ("plm_rsh_args", "plm_ssh_args")
_MCA = ("mca", "gmca", "omca", "gomca", "prtemca")
# Open MPI 5.0.11 takes two dashes only for these, and reads one dash as a cluster of short options.
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
_HYDRA_REWORDED = {
    "wd": "-wdir",
    "npernode": "-ppn",
    "tag-output": "-prepend-rank",
    "H": "-hosts",
}


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """A launcher's arguments, as it shall get them.

    Attributes:
        args: without the program's own name.
        variables: what moved into the environment.
        notes: one line for each change.
    """

    args: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Change:
    words: tuple[str, ...]
    why: str
    variables: Mapping[str, str] = field(default_factory=dict)


_Rule = Callable[[Option, Job], _Change | None]


def translate(args: Sequence[str], job: Job, environ: Mapping[str, str] | None = None) -> Rewritten:
    """Put a launcher's arguments into the words of this job's MPI.

    Args:
        args: what the user wrote behind `mpirun`.
        job: names the MPI and its version.
        environ: the environment that the launcher will have.
    """
    rules = {
        "Open MPI 4": (_known_hosts, _joined_mca),
        "Open MPI 5": (_known_hosts, _joined_mca, _renamed_mca, _openmpi5),
        "MPICH": (_known_hosts, _hydra, _mpich),
        "Intel MPI": (_counted_hosts, _known_hosts, _hydra, _intel),
    }[job.dialect]
    words: list[str] = []
    notes: list[str] = []
    variables: dict[str, str] = {}
    parts = ownflags.contexts(job.dialect, args)
    for number, part in enumerate(parts):
        words += [":"] if number else _missing(parts, job, environ or {})
        for option in part.options:
            change = _first(rules, option, job)
            words += option.words if change is None else change.words
            if change is not None:
                notes.append(_note(option.words, change))
                variables.update(change.variables)
        rest, note = _without_divider(part, job)
        words += rest
        notes += note
    return Rewritten(args=tuple(words), variables=variables, notes=tuple(dict.fromkeys(notes)))


def _first(rules: Sequence[_Rule], option: Option, job: Job) -> _Change | None:
    return next((change for rule in rules if (change := rule(option, job)) is not None), None)


def _note(words: Sequence[str], change: _Change) -> str:
    new = [*change.words, *(f"{name}={value}" for name, value in change.variables.items())]
    old = " ".join(words)
    return f"{old} → {' '.join(new)}: {change.why}" if new else f"{old} is left out: {change.why}"


def _missing(parts: Sequence[Context], job: Job, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what hydra has no variable for, unless the user said it in some way."""
    said = {option.name for part in parts for option in part.options}
    if job.openmpi or not any(part.program and part.rest for part in parts):
        return
    if job.own_address and not said.intersection(("localhost", "iface")):
        yield from ("-localhost", job.own_address)
    # Intel MPI reads no slots in a file that a variable or any other flag names.
    theirs = environ.get("I_MPI_HYDRA_HOST_FILE", job.hostfile) != job.hostfile
    if job.dialect == "Intel MPI" and not theirs and not said.intersection(_INTEL_HOSTS):
        yield from ("-machinefile", job.hostfile)


def _without_divider(part: Context, job: Job) -> tuple[list[str], list[str]]:
    rest = list(part.rest)
    if job.openmpi or rest[:1] != ["--"]:
        return rest, []
    return rest[1:], [f"-- is left out: {job.dialect} {job.version} does not know it"]


def _known_hosts(option: Option, job: Job) -> _Change | None:
    """Name workers as the hostfile and ssh_config do."""
    if option.name not in _HOSTS or (option.name == "H" and not job.openmpi):
        return None
    value = _as_mpirun_sees(option.value, job)
    if value == option.value:
        return None
    flag = option.words[0].partition("=")[0]
    words = (f"{flag}={value}",) if option.glued else (flag, value)
    return _Change(words=words, why="the worker's name in this job's hostfile")


def _counted_hosts(option: Option, job: Job) -> _Change | None:
    """Say to Intel MPI apart from the hosts how many ranks each of them takes."""
    pairs = [host.rpartition(":") for host in option.value.split(",")]
    counts = {count for _, colon, count in pairs if colon}
    if option.name not in _HOSTS or len(counts) != 1 or not all(colon for _, colon, _ in pairs):
        return None
    names = _as_mpirun_sees(",".join(name for name, _, _ in pairs), job)
    why = "Intel MPI wants the number apart, and the hosts in one word"
    return _Change(words=("-hosts", names, "-ppn", counts.pop()), why=why)


def _as_mpirun_sees(hosts: str, job: Job) -> str:
    shown = []
    for host in hosts.split(","):
        name, colon, slots = host.partition(":")
        shown.append(f"{job.names.get(name, name)}{colon}{slots}")
    return ",".join(shown)


def _joined_mca(option: Option, job: Job) -> _Change | None:
    """Keep our ssh configuration where the user has further words for ssh."""
    if option.name not in _MCA or option.glued or option.values[0] not in _SSH_ARGS:
        return None
    value = with_config(job, option.value)
    if value == option.value:
        return None
    words = (*option.words[:2], value)
    return _Change(words=words, why="ssh needs this job's keys and host keys, too")


def _renamed_mca(option: Option, job: Job) -> _Change | None:
    """Let Open MPI 5 find runtime parameters under the names that it reads."""
    if option.name not in ("mca", "gmca") or option.glued:
        return None
    old, value = option.values
    if not old.startswith("orte_") or old not in RENAMED:
        return None
    why = f"Open MPI {job.version} ignores the old name"
    return _Change(words=("--prtemca", RENAMED[old], value), why=why)


def _openmpi5(option: Option, job: Job) -> _Change | None:
    mpi = f"Open MPI {job.version}"
    if option.name in _TWO_DASHES and (option.dashes == "-" or option.glued):
        sort = "an equals sign" if option.glued else "a single dash"
        words = (f"--{option.name}", option.value)
        return _Change(words=words, why=f"{mpi} takes {sort} for something else")
    if option.name == "rf" and option.values:
        words = ("--map-by", f"rankfile:file={option.value}")
        return _Change(words=words, why=f"{mpi} does not know it")
    if option.name in _REWORDED and option.words[0] != "--v":
        return _Change(
            words=_REWORDED[option.name], why=f"{mpi} does not know it, or reads it wrongly"
        )
    if option.name in _GONE:
        return _Change(words=(), why=f"{mpi} does not know it")
    return None


def _hydra(option: Option, job: Job) -> _Change | None:
    """Replace what only Open MPI has."""
    why = f"{job.dialect} {job.version} does not know it"
    if option.name == "x":
        name, equals, value = option.value.partition("=")
        if equals:
            return _Change(words=("-genv", name, value), why=why)
        return _Change(words=(), why=f"{job.dialect} hands on every variable")
    if option.name in _HYDRA_REWORDED:
        values = option.values
        if option.name == "H":
            values = (_as_mpirun_sees(option.value, job),)
        return _Change(words=(_HYDRA_REWORDED[option.name], *values), why=why)
    if option.name in _MCA:
        return _Change(words=(), why=f"{job.dialect} has no MCA parameters")
    if option.name == "allow-run-as-root":
        return _Change(
            words=(), why=f"{job.dialect} needs no leave for root, and has no word for it"
        )
    if option.name == "oversubscribe":
        return _Change(words=(), why=f"{job.dialect} always allows it, and has no word for it")
    if option.name in ("rank-by", "timestamp-output"):
        return _Change(words=(), why=why)
    return None


def _mpich(option: Option, job: Job) -> _Change | None:
    if option.name == "bootstrap-exec-args":
        why = f"MPICH {job.version} takes words for ssh from its environment only"
        value = with_config(job, option.value)
        return _Change(words=(), why=why, variables={"HYDRA_LAUNCHER_EXTRA_ARGS": value})
    return None


def _intel(option: Option, job: Job) -> _Change | None:
    if option.name == "bootstrap-exec-args":
        value = with_config(job, option.value)
        if value == option.value:
            return None
        why = "ssh needs this job's keys and host keys, too"
        return _Change(words=("-bootstrap-exec-args", value), why=why)
    if option.name == "N":
        return _Change(words=("-ppn", option.value), why="Intel MPI does not know it")
    if option.name == "bind-to" and option.value == "none":
        why = "Intel MPI accepts that word and pins all the same"
        return _Change(words=(), why=why, variables={"I_MPI_PIN": "0"})
    if option.name == "report-bindings":
        return _Change(words=(), why="Intel MPI does not know it; I_MPI_DEBUG=4 shows pinning")
    return None
