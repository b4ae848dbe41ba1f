"""The user's own words for mpirun, in the tongue of the mpirun that is here.

Only what this version rejects, or takes for something else, is put into other words. Words from the
program on are never touched, nor is anything behind an option that is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mpiboot.model.record import dataclass, field
from mpiboot.plan import ownflags
from mpiboot.plan.ownflags import Context, Option
from mpiboot.plan.ownjob import Job
from mpiboot.plan.ownrules import HOSTS, RULES, Change

_INTEL_HOSTS = (
    *HOSTS, "hostfile", "machinefile", "machine", "f", "file", "configfile", "hosts-group",
    "ppn", "perhost", "grr", "rr", "N", "npernode",
)  # fmt: skip


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


def translate(args: Sequence[str], job: Job, environ: Mapping[str, str] | None = None) -> Rewritten:
    """Put a launcher's arguments into the words of this job's MPI.

    Args:
        args: what the user wrote behind `mpirun`.
        job: names the MPI and its version.
        environ: the environment that the launcher will have.
    """
    words: list[str] = []
    notes: list[str] = []
    variables: dict[str, str] = {}
    parts = ownflags.contexts(job.dialect, args)
    for number, part in enumerate(parts):
        words += [":"] if number else _missing(parts, job, environ or {})
        for option in part.options:
            change = _first(option, job)
            words += option.words if change is None else change.words
            if change is not None:
                notes.append(_note(option.words, change))
                variables.update(change.variables)
        rest, note = _program(part, job)
        words += rest
        notes += note
    return Rewritten(args=tuple(words), variables=variables, notes=tuple(dict.fromkeys(notes)))


def _first(option: Option, job: Job) -> Change | None:
    rules = RULES[job.dialect]
    return next((change for rule in rules if (change := rule(option, job)) is not None), None)


def _note(words: Sequence[str], change: Change) -> str:
    new = [*change.words, *(f"{name}={value}" for name, value in change.variables.items())]
    old = " ".join(words)
    return f"{old} → {' '.join(new)}: {change.why}" if new else f"{old} is left out: {change.why}"


def _missing(parts: Sequence[Context], job: Job, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what there is no variable for, unless the user said it in some way."""
    said = {option.name for part in parts for option in part.options}
    if not any(part.program and part.rest for part in parts):
        return
    if job.openmpi:
        if job.raw_output and "output" not in said:
            yield from ("--output", job.raw_output)
        return
    # Intel MPI sends the name beside that address; a variable names its interface instead.
    address = "" if job.own_interface and job.dialect == "Intel MPI" else job.own_address
    if address and not said.intersection(("localhost", "iface")):
        yield from ("-localhost", address)
    # Intel MPI reads no slots in a file that a variable or any other flag names.
    theirs = environ.get("I_MPI_HYDRA_HOST_FILE", job.hostfile) != job.hostfile
    if job.dialect == "Intel MPI" and not theirs and not said.intersection(_INTEL_HOSTS):
        yield from ("-machinefile", job.hostfile)


def _program(part: Context, job: Job) -> tuple[list[str], list[str]]:
    """Put the ranks' wrapper before a program, and take away the divider that hydra has no word for."""
    if not part.program or not part.rest:
        return list(part.rest), []
    divided = part.rest[0] == "--"
    program = [*job.wrapper, *part.rest[divided:]] if len(part.rest) > divided else []
    if divided and not job.openmpi:
        return program, [f"-- is left out: {job.dialect} {job.version} does not know it"]
    return ["--", *program] if divided else program, []
