"""What a worker says of itself. It comes from another machine: every field is checked and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

_TEXT_LIMIT = 4096
_LIST_LIMIT = 64


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A worker's own description.

    Attributes:
        hostname: its own name, as `hostname` prints it.
        addresses: its addresses on all interfaces but loopback.
        cpus: CPUs it may use: the smaller of cgroup quota, cpuset and affinity (may be a fraction).
        gpus: GPUs visible to a session.
        memory_bytes: limit of its cgroup, else the machine's memory; 0 unknown.
        shm_bytes: size of /dev/shm; 0 when absent.
        nofile: soft limit of open files; -1 unlimited.
        memlock_bytes: soft limit of locked memory; -1 unlimited.
        mpi: first line of `mpirun --version`, empty without one.
        path: PATH of the sessions it serves.
        ld_library_path: LD_LIBRARY_PATH of those sessions.
        version: its mpiboot version.
    """

    hostname: str = ""
    addresses: tuple[str, ...] = ()
    cpus: float = 0.0
    gpus: int = 0
    memory_bytes: int = 0
    shm_bytes: int = 0
    nofile: int = 0
    memlock_bytes: int = 0
    mpi: str = ""
    path: str = ""
    ld_library_path: str = ""
    version: str = ""
    cma: bool | None = None
    python: str = ""
    wrapper: str = ""

    @property
    def auto_slots(self) -> int:
        """Slots when none are given: visible GPUs, else whole CPUs, at least one."""
        return self.gpus or max(1, int(self.cpus))

    def to_json(self) -> dict[str, object]:
        """Return a JSON-ready mapping that `from_json` reads back."""
        return asdict(self)


def from_json(data: Mapping[str, object]) -> Facts:
    """Read facts that another machine sent; a field of the wrong type or size is left out."""
    return Facts(
        hostname=_text(data, "hostname")[:255],
        addresses=_texts(data, "addresses"),
        cpus=min(_number(data, "cpus"), 100_000.0),
        gpus=min(int(_number(data, "gpus")), 1024),
        memory_bytes=int(_number(data, "memory_bytes")),
        shm_bytes=int(_number(data, "shm_bytes")),
        nofile=int(_number(data, "nofile", least=-1)),
        memlock_bytes=int(_number(data, "memlock_bytes", least=-1)),
        mpi=_text(data, "mpi"),
        path=_text(data, "path"),
        ld_library_path=_text(data, "ld_library_path"),
        version=_text(data, "version"),
        python=_text(data, "python"),
        wrapper=_text(data, "wrapper"),
    )


def _text(data: Mapping[str, object], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        return ""
    return "".join(c for c in value[:_TEXT_LIMIT] if c.isprintable())


def _texts(data: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = data.get(key)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(v[:64] for v in value[:_LIST_LIMIT] if isinstance(v, str) and v.isprintable())


def _number(data: Mapping[str, object], key: str, least: float = 0) -> float:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if least <= value < 2**63 else 0
