"""Which shims an image gets, where they go, and what they say.

A shim decides by itself, in the shell, whether mpiboot could have a part in a call at all; only then
does Python start. What a Job's YAML calls by a path, sshd, is replaced in its place. The launchers
are called by their names: their shims come before them on PATH, and nothing is moved.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from mpiboot.model import shims
from mpiboot.model.record import dataclass
from mpiboot.model.shims import File, Kind, Program, Shim
from mpiboot.plan import signs

SSHD = "sshd"
LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "horovodrun")
NAMES = (SSHD, *LAUNCHERS)
OWN_PLACE = (
    "/opt/mpiboot/shims"  # what we recommend where no directory of administrators comes first
)

# In a rank, or in a session of the job, a call is the job's own business.
WITHIN = (
    "SSH_CONNECTION", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_LOCALRANKID",
)  # fmt: skip
ROLES = ("MPIBOOT_ROLE", "K_MPI_JOB_ROLE")
_QUESTIONS = {
    SSHD: ("-t", "-T", "-G", "-i", "-R", "-V"),
    "": ("-h", "-help", "--help", "-V", "-version", "--version", "-info"),
}
# Blocked until the agent has handlers: PID 1 drops a signal that it has none for.
_BLOCKED = "TERM,INT,HUP,QUIT,USR1,USR2"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What an image has.

    Attributes:
        path: directories of PATH.
        programs: by name.
        kinds: what is at each place that a shim could take.
        python: the agent's interpreter.
        bash: path of bash; empty: there is none.
        blocks: whether `env` knows --block-signal.
        dpkg: whether dpkg keeps this image's files.
    """

    path: Sequence[str]
    programs: Mapping[str, Program]
    kinds: Mapping[str, Kind]
    python: str
    bash: str = ""
    blocks: bool = True
    dpkg: bool = False


@dataclass(frozen=True, kw_only=True)
class Outfit:
    """What will be laid down.

    Attributes:
        shims: for programs.
        entries: further scripts: the agent's own entry.
        notes: what a person should know.
        problems: what cannot be done, and what to change.
    """

    shims: tuple[Shim, ...]
    entries: tuple[File, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def library(prefix: str) -> str:
    """Return the directory of the entry script and the record."""
    return f"{prefix}/lib/mpiboot"


def places(prefix: str, directory: str) -> tuple[str, ...]:
    """List the directories for shims of launchers, the best one first."""
    return (directory,) if directory else (f"{prefix}/bin", f"{prefix}/sbin")


def plan(scene: Scene, prefix: str, directory: str = "") -> Outfit:
    """Decide which shims go where.

    Args:
        scene: what the image has.
        prefix: where our own files go.
        directory: of the launchers' shims; empty: prefix/bin or prefix/sbin, whichever comes before
            the program on PATH.
    """
    entry = f"{library(prefix)}/entry"
    made: list[Shim] = []
    notes, problems = [], []
    for name in NAMES:
        program = scene.programs.get(name)
        if program is None:
            continue
        if name == SSHD:
            made.append(_in_place(program, scene, entry))
            continue
        place = _place(name, program, scene, places(prefix, directory))
        if place:
            made.append(_before(name, program, place, scene, entry))
            if not _comes_first(place, program, scene):
                notes.append(f"{name}: {place} has to come before {program.path}{_env(directory)}")
        else:
            problems.append(_no_place(name, program, places(prefix, directory)))
    missing = [name for name in NAMES if name not in scene.programs]
    if missing:
        notes.append(f"not installed, so without a shim: {', '.join(missing)}")
    text = entry_text(scene.python, blocks=scene.blocks)
    entries = [File(place=entry, text=text)]
    if scene.kinds.get(f"{prefix}/bin/mpiboot", Kind.ABSENT) is not Kind.OTHER:
        entries.append(File(place=f"{prefix}/bin/mpiboot", text=text))
    return Outfit(
        shims=tuple(made), entries=tuple(entries), notes=tuple(notes), problems=tuple(problems)
    )


def _in_place(program: Program, scene: Scene, entry: str) -> Shim:
    """Take sshd's very place; the original keeps its name, which PAM knows it by.

    A link is put aside as well, but called is what it led to: it may lead nowhere from there.
    """
    home = program.path.rpartition("/")[0].rpartition("/")[0]
    aside = f"{home}/lib/mpiboot/{SSHD}"
    real = aside if program.target == program.path else program.target
    text = shim_text(SSHD, real, real, entry, runner="/bin/sh")
    return Shim(
        name=SSHD, place=program.path, real=real, text=text, aside=aside, diverted=scene.dpkg
    )


def _before(name: str, program: Program, place: str, scene: Scene, entry: str) -> Shim:
    """Come before a launcher on PATH.

    Open MPI called by a path would tell its daemons that path's prefix, so it keeps the name by which
    it is called; hydra looks for its parts beside itself, and would find the shim by its name.
    """
    by_name = bool(scene.bash) and not program.hydra and name != "horovodrun"
    argv0 = name if by_name else program.path
    runner = f"{scene.bash} -p" if by_name else "/bin/sh"
    text = shim_text(name, program.path, argv0, entry, runner=runner)
    return Shim(name=name, place=place, real=program.path, text=text)


def _place(name: str, program: Program, scene: Scene, directories: Sequence[str]) -> str:
    """Choose the place that comes first on PATH; one that was asked for is taken where it is free."""
    candidates = [f"{directory}/{name}" for directory in directories]
    free = [one for one in candidates if scene.kinds.get(one, Kind.ABSENT) is not Kind.OTHER]
    first = [one for one in free if _comes_first(one, program, scene)]
    return next(iter(first or (free if len(directories) == 1 else [])), "")


def _comes_first(place: str, program: Program, scene: Scene) -> bool:
    path = list(scene.path)
    ours, theirs = place.rpartition("/")[0], program.path.rpartition("/")[0]
    return ours in path and (theirs not in path or path.index(ours) < path.index(theirs))


def _env(directory: str) -> str:
    return f": in the Dockerfile, `ENV PATH={directory}:$PATH`"


def _no_place(name: str, program: Program, directories: Sequence[str]) -> str:
    return (
        f"{name} is {program.path}, and no shim can come before it on PATH in"
        f" {' or '.join(directories)}: install with --dir {OWN_PLACE}, and in the Dockerfile"
        f" `ENV PATH={OWN_PLACE}:$PATH`"
    )


def shim_text(name: str, real: str, argv0: str, entry: str, *, runner: str) -> str:
    """Render a shim.

    Args:
        name: of the program.
        real: its path.
        argv0: how it is called; another word than `real` needs bash.
        entry: path of the agent's entry script.
        runner: the shell that runs the shim, and its words.
    """
    called = shlex.quote(real)
    if argv0 != real:
        called = f"-a {shlex.quote(argv0)} {called}"
    other = "launcher" if name == SSHD else "worker"
    questions = _QUESTIONS[SSHD if name == SSHD else ""]
    told = "".join(f"${{{sign}-}}" for sign in signs.VARIABLES)
    files = "".join(f' || [ -e "{file}" ]' for file in signs.FILES)
    lines = [
        f"#!{runner}",
        shims.mark(real),
        f"# Goes past mpiboot with {shims.VARIABLE}=off; `mpiboot uninstall` takes it away.",
        f'real() {{ exec {called} "$@"; }}',
        f'[ "${{{shims.VARIABLE}:-on}}" = on ] || real "$@"',
        f'[ -z "{"".join(f"${{{one}-}}" for one in WITHIN)}" ] || real "$@"',
        f'case "${{{ROLES[0]}:-${{{ROLES[1]}-}}}}" in {other}) real "$@" ;; esac',
        f'case "${{1-}}" in {"|".join(questions)}) real "$@" ;; esac',
        f'[ "{told}" ]{files} || real "$@"',
        f'exec {shlex.join([entry, "shim", real, argv0])} "$@"',
    ]
    return "\n".join(lines) + "\n"


def entry_text(python: str, *, blocks: bool) -> str:
    """Render what starts the agent with the care that PID 1 needs, as entrypoints/mpiboot does."""
    shebang = f"#!/usr/bin/env -S --block-signal={_BLOCKED} /bin/sh" if blocks else "#!/bin/sh"
    aside = (
        f'if [ "${{{name}+x}}" ]; then export MPIBOOT_JOB_{name}="${name}"; fi'
        for name in ("LD_LIBRARY_PATH", "LD_PRELOAD")
    )
    lines = [
        shebang,
        shims.ENTRY_MARK,
        *aside,
        "unset LD_LIBRARY_PATH LD_PRELOAD",
        f'exec {shlex.quote(python)} -I -m mpiboot "$@"',
    ]
    return "\n".join(lines) + "\n"
