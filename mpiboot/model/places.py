"""Places in the file system that were looked at."""

from __future__ import annotations

from mpiboot.model.record import dataclass


@dataclass(frozen=True, kw_only=True)
class Room:
    """A place where something has to be written.

    Attributes:
        path: the place.
        purpose: what for.
        why_not: why it cannot be written; empty where it can.
        free_bytes: what is free there, of `size_bytes` in all; None unknown.
    """

    path: str
    purpose: str
    why_not: str = ""
    free_bytes: int | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class File:
    """A file that a platform or a setting names.

    Attributes:
        path: where it is.
        mode: its permissions, without its kind.
        owner: number of its user.
        group: number of its group.
        readable: whether this process can read it.
    """

    path: str
    mode: int
    owner: int
    group: int
    readable: bool
