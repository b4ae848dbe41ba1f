"""See whether the program's MPI is the one that started it.

Else each rank is the only one of a job of its own: `rank 0 of 1`, and exit 0.
"""

from __future__ import annotations

import os
import time

from mpiboot.link.wrap.errors import CannotRunError

_BAD_CONFIGURATION = 78
_LOOKS_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
_FAMILIES = {
    b"openmpi": (b"libmpi.so.40", b"libmpi.so.20"),
    b"mpich": (b"libmpi.so.12", b"libmpich.so", b"libmpi_abi.so"),
}
# Some of them see at once who has started them, and end before anybody can look.
_COMPLAINTS = {"openmpi": ("Runtime environment uses unsupported PMI version PMIx",)}


class Libraries:
    """Looks, after some set times, at what the program and its descendants have mapped.

    Attributes:
        look_at: when to look next; infinite when all is said.
        foreign: path of a library of the other MPI, once one has been found.

    Args:
        family: of the mpirun that started us, `openmpi` or `mpich`.
        pid: the program's.
    """

    def __init__(self, family: str, pid: int) -> None:
        self._family = family.encode()
        self._pid = pid
        begun = time.monotonic()
        self._looks = [begun + after for after in _LOOKS_S]
        self.foreign = ""

    @property
    def look_at(self) -> float:
        """When the next look is due."""
        return self._looks[0] if self._looks else float("inf")

    def look(self) -> None:
        """Look once; a library of the right family settles it."""
        del self._looks[0]
        found: dict[bytes, bytes] = {}
        for pid in [self._pid, *descendants(self._pid)]:
            for path in _mapped(pid):
                found.setdefault(_family_of(path), path)
        found.pop(b"", None)
        if self._family in found:
            self._looks.clear()
        elif found:
            self._looks.clear()
            self.foreign = next(iter(found.values())).decode(errors="replace")

    def check(self, said: str) -> None:
        """Raise CannotRunError if a library of another MPI was found, or has said so itself.

        Args:
            said: the last words of a program that failed; empty: it did not, or they are not known.
        """
        family = self._family.decode()
        found = self.foreign or next(
            (one for one in _COMPLAINTS.get(family, ()) if one in said), ""
        )
        if found:
            text = (
                f"the program uses another MPI than the {family} that started it"
                f" ({found}), so each rank would be alone; use one MPI for both"
            )
            raise CannotRunError(_BAD_CONFIGURATION, "other mpi", text)


def descendants(pid: int) -> list[int]:
    """Return the process ids of children and their children."""
    children: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # each has the children that it made itself
    except OSError:
        threads = []
    for thread in threads:
        for line in _read(f"/proc/{pid}/task/{thread}/children"):
            children += [int(word) for word in line.split()]
    return children + [grand for child in children for grand in descendants(child)]


def _family_of(path: bytes) -> bytes:
    name = path.rpartition(b"/")[2]
    for family, starts in _FAMILIES.items():
        if name.startswith(starts):
            return family
    return b""


def _mapped(pid: int) -> list[bytes]:
    """Return the paths of the files that a process has mapped."""
    lines = _read(f"/proc/{pid}/maps")
    return list(dict.fromkeys(line[line.index(b"/") :] for line in lines if b"/" in line))


def _read(path: str) -> list[bytes]:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall().splitlines()
    except OSError:
        return []  # it has ended meanwhile
