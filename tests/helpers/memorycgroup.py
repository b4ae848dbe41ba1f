"""A memory cgroup with a limit, of whichever version this machine has."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.helpers.agents import MPIBOOT
from tests.helpers.eventually import eventually

_V1, _V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


class NotHereError(Exception):
    """No memory cgroup can be made on this machine."""


@contextlib.contextmanager
def made(limit_bytes: int) -> Iterator[Path]:
    """Make one, and remove it when all in it have ended.

    Raises:
        NotHereError: it cannot be made.
    """
    name = f"mpiboot-test-{uuid.uuid4().hex[:12]}"
    if (_V1 / "memory.limit_in_bytes").exists():
        group, limits = _V1 / name, ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    elif "memory" in (_V2 / "cgroup.subtree_control").read_text().split():
        group, limits = _V2 / name, ("memory.max", "memory.swap.max")
    else:
        raise NotHereError("no memory cgroup can be made on this machine")
    try:
        group.mkdir()
    except OSError as fault:
        raise NotHereError(f"no memory cgroup can be made on this machine: {fault}") from fault
    try:
        (group / limits[0]).write_text(str(limit_bytes))
        with contextlib.suppress(OSError):  # where there is no swap there is no limit of it
            swap = "0" if limits[1] == "memory.swap.max" else str(limit_bytes)
            (group / limits[1]).write_text(swap)
        yield group
    finally:
        eventually(lambda: _remove(group), 30)


def _remove(group: Path) -> None:
    try:
        group.rmdir()
    except FileNotFoundError:
        return
    except OSError as fault:
        raise AssertionError(f"{group} is still in use") from fault


def inside(group: Path) -> tuple[str, ...]:
    """Return what starts mpiboot in a cgroup."""
    return ("sh", "-c", f'echo 0 >{group}/cgroup.procs && exec "$@"', "sh", *MPIBOOT)
