"""`mpiboot install` and `uninstall`: put shims into an image, and take them back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mpiboot.errors import ConfigError, ExitCode, ProblemsError, UsageError
from mpiboot.model import flags
from mpiboot.model.record import dataclass
from mpiboot.model.shims import Kind, Program, Shim
from mpiboot.plan import mending, shims
from mpiboot.plan.mending import Lay, State, Take
from mpiboot.plan.shims import SSHD, Outfit, Scene
from mpiboot.runtime import installing
from mpiboot.runtime.installing import Record, Tree

# A Job's YAML calls sshd by this path.
_SSHD_DIRECTORIES = ("/usr/sbin", "/usr/local/sbin", "/sbin")
_RECORD = "installed.json"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a command line asks for.

    Attributes:
        prefix: where our own files go.
        directory: for the launchers' shims; empty: below prefix.
        tree: the image.
        check: whether to look only.
    """

    prefix: str
    directory: str
    tree: Tree
    check: bool = False

    @property
    def record(self) -> str:
        """Path of the record."""
        return f"{shims.library(self.prefix)}/{_RECORD}"


def parse(verb: str, argv: Sequence[str]) -> Request:
    """Read the words of `mpiboot install` or `uninstall`.

    Raises:
        UsageError: they make no sense.
    """
    laying = verb == "install"
    made = flags.bare(
        f"mpiboot {verb}",
        "Lay shims for sshd and MPI's launchers into an image: docs/install.md."
        if laying
        else "Take away what `mpiboot install` has laid, and put the originals back.",
    )
    made.add_argument("--prefix", default="/usr/local", metavar="DIR", help="(default /usr/local)")
    made.add_argument("--root", default="/", metavar="DIR", help="root of the image (default /)")
    if laying:
        made.add_argument(
            "--dir", default="", metavar="DIR",
            help="for the launchers' shims; it has to come before the launchers on PATH (default:"
            " bin or sbin below the prefix)",
        )  # fmt: skip
        made.add_argument("--check", action="store_true", help="change nothing; 78 if one is amiss")
    given = vars(made.parse_args(list(argv)))
    for name in ("prefix", "root", "dir"):
        if given.get(name) and not given[name].startswith("/"):
            raise UsageError(f"--{name} {given[name]}: expected an absolute path")
    return Request(
        prefix=os.path.normpath(given["prefix"]),
        directory=os.path.normpath(given["dir"]) if given.get("dir") else "",
        tree=Tree(root=Path(given["root"])),
        check=bool(given.get("check")),
    )


def install(request: Request, env: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Lay the shims, or lay anew what was overwritten.

    Raises:
        ProblemsError: not all can be laid; then none is.
        ConfigError: a place cannot be written, or an original was lost.
    """
    if not installing.loads_alone():
        raise ConfigError(
            f"{sys.executable} -I does not find mpiboot",
            hint="install it into a virtual environment or for the system, not for one user",
        )
    _guarded(lambda: _recover(request.tree, request.tree.record(request.record)))
    outfit = shims.plan(_scene(request, env), request.prefix, request.directory)
    if outfit.problems:
        raise ProblemsError(list(outfit.problems), code=ExitCode.CONFIG)
    if not outfit.shims:
        raise ConfigError(
            "neither an sshd nor an MPI is installed here, so there is nothing to stand for",
            hint="run this after they are installed",
        )
    wanted = _all(outfit)
    _guarded(lambda: _lay(request, wanted, say))
    for note in outfit.notes:
        say(note)


def uninstall(request: Request, say: Callable[[str], None]) -> None:
    """Take away what was laid; what others have put there since stays.

    Raises:
        ConfigError: the record or a place cannot be read or written.
    """
    laid = request.tree.record(request.record)
    if not laid.shims:
        say("nothing is installed")
        return
    _guarded(lambda: _take_all(request, laid, say))


def check(request: Request, say: Callable[[str], None]) -> int:
    """Say of each shim whether it still stands; return an exit code."""
    laid = request.tree.record(request.record).shims
    if not laid:
        say("nothing is installed")
        return int(ExitCode.CONFIG)
    faults = [(one.place, mending.fault(_state(request.tree, one))) for one in laid]
    for place, fault in faults:
        say(f"{place}: {fault or 'ok'}")
    if any(fault for _, fault in faults):
        say("run `mpiboot install` again")
        return int(ExitCode.CONFIG)
    return int(ExitCode.OK)


def _guarded(work: Callable[[], None]) -> None:
    try:
        work()
    except OSError as fault:
        raise ConfigError(
            f"{fault.filename}: {fault.strerror}", hint="run this as root, in the image's build"
        ) from fault


def _scene(request: Request, env: Mapping[str, str]) -> Scene:
    tree = request.tree
    path = [one for one in env.get("PATH", os.defpath).split(os.pathsep) if one.startswith("/")]
    programs: dict[str, Program] = {}
    for name in shims.NAMES:
        found = tree.program(name, (*_SSHD_DIRECTORIES, *path) if name == SSHD else path)
        if found is not None:
            programs[name] = found
    candidates = [
        f"{directory}/{name}"
        for directory in shims.places(request.prefix, request.directory)
        for name in shims.LAUNCHERS
    ]
    candidates.append(f"{request.prefix}/bin/mpiboot")  # --dir is for the launchers' alone
    return Scene(
        path=path,
        programs=programs,
        kinds={place: tree.kind(place) for place in candidates},
        python=sys.executable,
        bash=next((one for one in ("/bin/bash", "/usr/bin/bash") if tree.runs(one)), ""),
        blocks=installing.can("/usr/bin/env", "--block-signal=TERM", "true"),
        dpkg=tree.dpkg,
    )


def _all(outfit: Outfit) -> list[Shim]:
    """Treat the entry scripts as shims of no program; they come first, for the others call them."""
    entries = [Shim(name="", place=one.place, text=one.text, real="") for one in outfit.entries]
    return [*entries, *outfit.shims]


def _state(tree: Tree, shim: Shim) -> State:
    return State(
        place=tree.kind(shim.place),
        in_place=bool(shim.aside),
        aside=bool(shim.aside) and tree.kind(shim.aside) is not Kind.ABSENT,
        same=bool(shim.text) and tree.text(shim.place) == shim.text,
    )


def _recover(tree: Tree, laid: Record) -> None:
    """Put back what lies aside for a shim that was never written: else nobody would find it."""
    for shim in laid.shims:
        if mending.half_done(_state(tree, shim)):
            tree.move(shim.aside, shim.place)


def _lay(request: Request, wanted: Sequence[Shim], say: Callable[[str], None]) -> None:
    tree = request.tree
    before = tree.record(request.record)
    places = {one.place for one in wanted}
    _take(tree, [one for one in before.shims if one.place not in places], say)
    needed = [request.record, *places, *(one.aside for one in wanted if one.aside)]
    directories = (*before.directories, *tree.missing(needed))
    # Before anything moves: whatever happens from here on, `uninstall` knows of it.
    tree.write_record(request.record, Record(shims=tuple(wanted), directories=directories))
    for shim in wanted:
        _lay_one(tree, shim, say)


def _lay_one(tree: Tree, shim: Shim, say: Callable[[str], None]) -> None:
    step = mending.lay(_state(tree, shim))
    if step is Lay.LOST:
        raise ConfigError(f"{shim.place}: {step.value}")
    if step in (Lay.MOVE_AND_WRITE, Lay.RENEW):
        tree.divert(shim)
        tree.move(shim.place, shim.aside)
    if step not in (Lay.KEEP, Lay.TAKEN):
        tree.write(shim)
    say(f"{shim.place}: {step.value}" + (f" ({shim.real})" if shim.real else ""))


def _take_all(request: Request, laid: Record, say: Callable[[str], None]) -> None:
    tree = request.tree
    _take(tree, laid.shims, say)
    tree.remove(request.record)
    for directory in reversed(laid.directories):
        tree.remove_empty(directory)


def _take(tree: Tree, laid: Sequence[Shim], say: Callable[[str], None]) -> None:
    for shim in reversed(laid):
        step = mending.take(_state(tree, shim))
        if step is Take.RESTORE:
            tree.move(shim.aside, shim.place)  # over the shim: the place is never empty
        elif step in (Take.REMOVE, Take.LOST):
            tree.remove(shim.place)
        elif step is Take.DISCARD:
            tree.remove(shim.aside)
        if shim.aside:
            tree.undivert(shim)
        say(f"{shim.place}: {step.value}")
