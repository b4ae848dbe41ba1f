"""Tell a package which commit it is built of, where the tree that it is built of has a history."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# An sdist carries it beside the package, for the wheel that is built of it.
PLACES = {"sdist": "revision.txt", "wheel": "mpiboot/revision.txt"}


class Revision(BuildHookInterface[Any]):
    """Lay the commit's name into wheel and sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file to what is packed.

        Args:
            version: what is built of the target, `editable` or `standard`.
            build_data: what the builder knows.
        """
        found = "" if version == "editable" else _revision(Path(self.root))
        if found:
            self._file = tempfile.NamedTemporaryFile("w", suffix=".txt")  # noqa: SIM115 - it goes with the hook
            self._file.write(f"{found}\n")
            self._file.flush()
            build_data["force_include"][self._file.name] = PLACES[self.target_name]


def _revision(root: Path) -> str:
    """Name the commit of a checkout, or of what an sdist was built of; empty: nobody knows."""
    try:
        if (root / PLACES["sdist"]).exists():
            return (root / PLACES["sdist"]).read_text().strip()
        if not (root / ".git").exists():  # in somebody else's checkout, perhaps
            return ""
        words = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        done = subprocess.run(
            words, cwd=root, capture_output=True, text=True, check=False, timeout=30
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
