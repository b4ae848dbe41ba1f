"""End the daemons that stayed between the mpiruns of a command which has ended."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from mpiboot.link.dvm import is_prte
from mpiboot.plan import dvm
from mpiboot.runtime.ladder import Ladder

_GRACE_S = 3.0


async def end(directory: str) -> None:
    """End the DVM whose calls keep their state in a directory, and remove that."""
    try:
        pid = json.loads((Path(directory) / dvm.STATE).read_text()).get("pid", 0)
    except (FileNotFoundError, ValueError):
        pid = 0
    if pid:
        await Ladder.of(_GRACE_S).end(lambda: [pid] if is_prte(pid) else [])
    shutil.rmtree(directory, ignore_errors=True)
