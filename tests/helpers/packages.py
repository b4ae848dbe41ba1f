"""The packages that a release consists of, built of this checkout as a release builds them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mpiboot import __version__

ROOT = Path(__file__).resolve().parents[2]
WHEEL = f"mpiboot-{__version__}-py3-none-any.whl"
SDIST = f"mpiboot-{__version__}.tar.gz"
# Where `make release-check` has laid what will be published: that very file is tested then.
BUILT = os.environ.get("MPIBOOT_TEST_DIST", "")
EPOCH = os.environ.get("SOURCE_DATE_EPOCH", "1700000000")


def build(root: Path, out: Path, *words: str, umask: int = -1) -> None:
    """Build packages of a tree.

    Args:
        root: the tree.
        out: the directory that gets them.
        words: --wheel, --sdist; none: an sdist, and a wheel of that.
        umask: of the build; -1: ours.
    """
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "-o", str(out), *words, str(root)],
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH}, umask=umask,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
