"""What the images take from PyPI: locks, the advisories that are known, and the bill of materials."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "images/locks"


@dataclass(frozen=True)
class Pin:
    """One package of a lock.

    Attributes:
        requirement: as it stands there.
        hashes: SHA-256 of each file that may be installed.
    """

    requirement: Requirement
    hashes: frozenset[str]

    @property
    def version(self) -> Version:
        """The one version that may be installed."""
        (only,) = self.requirement.specifier
        assert only.operator == "==", self.requirement
        assert "*" not in only.version, self.requirement
        return Version(only.version)


def read(text: str) -> dict[str, Pin]:
    """Read a lock: canonical name → pin."""
    pins = {}
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.strip() and not line.startswith("#"):
            words, *hashes = line.split(" --hash=sha256:")
            requirement = Requirement(words.strip())
            pins[requirement.name] = Pin(requirement, frozenset(one.strip() for one in hashes))
    return pins


def lock(name: str) -> dict[str, Pin]:
    """Read one of the images' locks."""
    return read((LOCKS / f"{name}.txt").read_text())


def affected(pins: Mapping[str, Pin], advisories: Sequence[Mapping[str, str]]) -> list[str]:
    """Say of each advisory that a lock falls under what has to be done, one line each."""
    return [
        f"{one['package']} {pins[one['package']].version} has {one['id']}: {one['fixed_in']} is the"
        f" first without it ({one['source']})"
        for one in advisories
        if one["package"] in pins and pins[one["package"]].version < Version(one["fixed_in"])
    ]


def sbom() -> ModuleType:
    """Load the script that writes the bill of materials."""
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "images/recipes/sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
