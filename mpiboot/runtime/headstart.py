"""Start the process that makes a worker's keys before the worker itself is loaded.

Both import for as long as the other does: side by side they are through sooner. That process
loads its libraries and waits for a request on its stdin; it ends when that is closed instead. The table of
children takes it over before anything is reaped.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Sequence

KEYMAKING = (sys.executable, "-I", "-m", "mpiboot.runtime.keymaking")
Begun = tuple[tuple[str, ...], "subprocess.Popen[bytes]"]

_begun: list[Begun] = []


def begin(argv: Sequence[str] = KEYMAKING) -> None:
    """Start a helper that will be asked later; where none can be made now, it is made then."""
    with contextlib.suppress(OSError):
        popen = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        _begun.append((tuple(argv), popen))


def taken() -> list[Begun]:
    """Hand over what was begun, once."""
    handed, _begun[:] = list(_begun), []
    return handed
