"""Show containers the package of a checkout in place of the one that their image was built with."""

from __future__ import annotations

import functools
import json
import os
import shutil
import tempfile
from pathlib import Path

from tests.docker.conftest import docker
from tests.docker.test_images import STACKS, image

# A checkout's `mpiboot`, for work on it without building images; empty: the images as they are.
PACKAGE = os.environ.get("MPIBOOT_TEST_PACKAGE", "")
PYTHONS = {"12": "3.11", "13": "3.13"}  # by Debian release


def mounts(stack: str) -> tuple[str, ...]:
    """Return options of `docker run` that put the checkout's package over the image's."""
    if not PACKAGE:
        return ()
    version = PYTHONS[STACKS[stack].debian]
    return ("-v", f"{_compiled(version, stack)}:{_place(version)}:ro")


def override(path: Path, stack: str, *services: str) -> tuple[str, str]:
    """Write an override file that does so in a compose project; return options that name it."""
    volumes = list(mounts(stack)[1::2])
    path.write_text(json.dumps({"services": {name: {"volumes": volumes} for name in services}}))
    return ("-f", str(path))


def _place(version: str) -> str:
    return f"/opt/mpiboot/lib/python{version}/site-packages/mpiboot"


@functools.lru_cache
def _compiled(version: str, stack: str) -> Path:
    """Copy the package and compile it with the stack's own Python, as images do."""
    directory = Path(tempfile.mkdtemp(prefix="mpiboot-package-")) / "mpiboot"
    shutil.copytree(PACKAGE, directory, ignore=shutil.ignore_patterns("__pycache__"))
    docker(
        "run", "--rm", "-v", f"{directory}:{_place(version)}", "--entrypoint", "python3",
        image(stack), "-m", "compileall", "-q", _place(version), check=True,
    )  # fmt: skip
    return directory
