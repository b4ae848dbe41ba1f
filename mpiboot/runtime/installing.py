"""See and change the tree of an image, where shims are laid and taken back, and keep a record of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mpiboot.errors import ConfigError
from mpiboot.model import shims
from mpiboot.model.record import dataclass
from mpiboot.model.shims import File, Kind, Program, Shim
from mpiboot.runtime import files

_RUN_S = 20.0
_VERSION = 1
_LINKS = 40
_OPENMPI = ("orterun", "prterun", "prte")


@dataclass(frozen=True, kw_only=True)
class Record:
    """What was laid into an image.

    Attributes:
        shims: without their texts; the agent's entry scripts are shims of no program.
        directories: that were made for them.
    """

    shims: tuple[Shim, ...] = ()
    directories: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The root directory of an image; `/` in a build.

    Attributes:
        root: its path.
    """

    root: Path

    def at(self, path: str) -> Path:
        """Return where a path of the image is."""
        return self.root / path.lstrip("/")

    def kind(self, path: str) -> Kind:
        """Tell what is at a path; a link that leads nowhere is something, too."""
        place = self.at(path)
        if not os.path.lexists(place):
            return Kind.ABSENT
        head = None if place.is_symlink() else files.head(str(place), shims.HEAD_BYTES)
        return Kind.OTHER if head is None else shims.kind_of(head)

    def text(self, path: str) -> str:
        """Return a script's text; empty: there is none."""
        return files.head(str(self.at(path))) or ""

    @property
    def dpkg(self) -> bool:
        """Whether dpkg keeps this image's files."""
        known = self.at("/var/lib/dpkg/status").exists()
        return known and shutil.which("dpkg-divert") is not None

    def target(self, path: str) -> str:
        """Follow the links of a file within this root."""
        for _ in range(_LINKS):
            place = self.at(path)
            if not place.is_symlink():
                break
            path = os.path.normpath(Path(path).parent / place.readlink())
        return path

    def program(self, name: str, directories: Sequence[str]) -> Program | None:
        """Find a program in directories; a shim is not the program, but may know where that is."""
        for directory in directories:
            path = f"{directory}/{name}"
            if not self.runs(path):
                continue
            real = shims.real_of(self.text(path))
            target = self.target(path)
            if not real:
                return Program(path=path, target=target, hydra=self._hydra(target))
            if name == "sshd" and self.runs(real):
                return Program(path=path, target=real)
        return None

    def runs(self, path: str) -> bool:
        """Tell whether a path leads to a program."""
        place = self.at(self.target(path))
        return place.is_file() and os.access(place, os.X_OK)

    def _hydra(self, target: str) -> bool:
        directory, _, name = target.rpartition("/")
        if name in _OPENMPI or "openmpi" in name:
            return False
        return "hydra" in name or "mpich" in name or self.runs(f"{directory}/mpiexec.hydra")

    # -- changes ---------------------------------------------------------------------------------

    def write(self, file: File) -> None:
        """Write a script, whole or not at all."""
        place = self.at(file.place)
        place.parent.mkdir(parents=True, exist_ok=True)
        files.write(place, file.text, mode=0o755)

    def move(self, origin: str, to: str) -> None:
        """Move a file as it is, with its mode, owner and capabilities, or a link."""
        target = self.at(to)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.at(origin), target)

    def remove(self, path: str) -> None:
        """Remove a file or a link."""
        self.at(path).unlink(missing_ok=True)

    def remove_empty(self, directory: str) -> None:
        """Remove a directory if nothing is in it."""
        with contextlib.suppress(OSError):
            self.at(directory).rmdir()

    def divert(self, shim: Shim) -> None:
        """Tell dpkg where upgrades of the original go."""
        if shim.diverted:
            self._dpkg_divert("--add", shim)

    def undivert(self, shim: Shim) -> None:
        """Tell dpkg that the original is back."""
        if shim.diverted and shutil.which("dpkg-divert"):
            self._dpkg_divert("--remove", shim)

    def _dpkg_divert(self, verb: str, shim: Shim) -> None:
        argv = ["dpkg-divert", "--quiet", "--local", "--no-rename"]
        argv += [] if self.root == Path("/") else ["--root", str(self.root)]
        answer(argv=[*argv, "--divert", shim.aside, verb, shim.place])

    # -- the record ------------------------------------------------------------------------------

    def missing(self, paths: Sequence[str]) -> list[str]:
        """Name the directories that paths need and that are not there, the deepest last."""
        parents = {str(one) for path in paths for one in Path(path).parents}
        return sorted(one for one in parents if not self.at(one).is_dir())

    def record(self, path: str) -> Record:
        """Read what was laid.

        Raises:
            ConfigError: the record cannot be read.
        """
        place = self.at(path)
        if not place.exists():
            return Record()
        try:
            document = json.loads(place.read_text())
            return Record(
                shims=tuple(_read(one) for one in document["shims"]),
                directories=tuple(str(one) for one in document["directories"]),
            )
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise ConfigError(
                f"the record {place} cannot be read: {fault}", hint="restore it, or remove it"
            ) from fault

    def write_record(self, path: str, record: Record) -> None:
        """Write down what is laid, or is about to be; a second install changes no file."""
        rows = [
            {
                "name": one.name, "place": one.place, "real": one.real, "aside": one.aside,
                "diverted": one.diverted,
            }
            for one in record.shims
        ]  # fmt: skip
        document = {"version": _VERSION, "directories": list(record.directories), "shims": rows}
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(document, indent=1) + "\n"
        if files.read_text(str(place)) != text:
            files.write(place, text, mode=0o644)


def _read(row: dict[str, object]) -> Shim:
    texts = {name: str(row[name]) for name in ("name", "place", "real", "aside")}
    if not texts["place"].startswith("/"):
        raise ValueError(f"place {texts['place']!r}")
    return Shim(text="", diverted=row["diverted"] is True, **texts)


def answer(argv: Sequence[str]) -> None:
    """Run a short program to its end.

    Raises:
        ConfigError: with its own words.
    """
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=_RUN_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise ConfigError(f"{argv[0]} cannot be run: {fault}") from fault
    if done.returncode:
        words = " ".join((done.stderr or done.stdout).split())
        raise ConfigError(f"{argv[0]} ended with {done.returncode}: {words}")


def can(*argv: str) -> bool:
    """Tell whether a short program succeeds here."""
    try:
        answer(argv)
    except ConfigError:
        return False
    return True


def loads_alone() -> bool:
    """Tell whether this interpreter finds the agent without the user's variables and directories."""
    return can(sys.executable, "-I", "-c", "import mpiboot.cli")
