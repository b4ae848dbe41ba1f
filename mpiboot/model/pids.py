"""Processes and threads of a container."""

from __future__ import annotations

from mpiboot.model.record import dataclass


@dataclass(frozen=True, kw_only=True)
class Pids:
    """What a cgroup says of them; None for what it does not tell.

    Attributes:
        limit: how many there may be; None also where there is no limit.
        used: how many there are.
        refused: how often one more was refused since the cgroup was made.
    """

    limit: int | None = None
    used: int | None = None
    refused: int | None = None
