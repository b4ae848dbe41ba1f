"""What a worker says of itself. It comes from another machine: every field is checked and bounded."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from mpiboot.model import fields
from mpiboot.model.record import asdict, dataclass

_TEXT_LIMIT = 4096
_PATH_LIMIT = 1024
_LIST_LIMIT = 64
_MOST_CPUS = 8192.0  # no Linux knows more: a worker's word must not make a job of 100,000 ranks
# The kernel allows more; but `:` is for aliases, and the tools that are told of names know `,=^%`.
_INTERFACE_NAME = re.compile(r"[A-Za-z0-9_.@+-]{1,15}")
_CIDR = re.compile(r"[0-9A-Fa-f.:]{2,45}/[0-9]{1,3}")


@dataclass(frozen=True, kw_only=True)
class Network:
    """An address on an interface that is up, and how much of it names the network.

    Attributes:
        name: of the interface.
        cidr: the address with the length of the prefix, `10.1.0.7/24`.
        index: the kernel's number of the interface; 0 unknown.
    """

    name: str
    cidr: str
    index: int = 0


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A worker's own description.

    Attributes:
        hostname: its own name, as `hostname` prints it.
        addresses: its addresses on all interfaces but loopback.
        networks: those of them whose interface is up, with name and prefix.
        cpus: CPUs it may use: the smaller of cgroup quota, cpuset and affinity (may be a fraction).
        cpu_list: those that its affinity allows, as the kernel lists them, `0-3,8`.
        machine: the kernel's boot id, the same in all containers of a machine; empty unknown.
        gpus: GPUs visible to a session.
        memory_bytes: limit of its cgroup, else the machine's memory; 0 unknown.
        shm_bytes: size of /dev/shm; 0 when absent.
        shm_used_bytes: what was used of it before the job.
        pids: how many processes and threads its cgroup may have; 0: as many as there are, or unknown.
        pids_used: how many it had before the job.
        nofile: soft limit of open files; -1 unlimited.
        memlock_bytes: what sessions may lock; -1 unlimited.
        mpi: name and version of its MPI, `Open MPI 4.1.4`; the first line of `mpirun --version`
            where it is another one; empty without mpirun.
        mpi_path: its mpirun, links resolved; empty without one.
        daemon: path of the daemon that belongs to that mpirun; empty when it is missing.
        path: PATH of the sessions it serves.
        ld_library_path: LD_LIBRARY_PATH of those sessions.
        version: its mpiboot version.
        cma: whether one process may read another's memory (process_vm_readv), as ranks of one host
            like to; None unknown.
        rdma: whether it has RDMA devices that programs can open; None unknown.
        python: the interpreter that its agent runs on.
        wrapper: path of the rank wrapper.
        link: path of the socket at which its agent listens.
    """

    hostname: str = ""
    addresses: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()
    cpus: float = 0.0
    cpu_list: str = ""
    machine: str = ""
    gpus: int = 0
    memory_bytes: int = 0
    shm_bytes: int = 0
    shm_used_bytes: int = 0
    pids: int = 0
    pids_used: int = 0
    nofile: int = 0
    memlock_bytes: int = 0
    mpi: str = ""
    mpi_path: str = ""
    daemon: str = ""
    path: str = ""
    ld_library_path: str = ""
    version: str = ""
    cma: bool | None = None
    rdma: bool | None = None
    python: str = ""
    wrapper: str = ""
    link: str = ""

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
        networks=_networks(data, "networks"),
        cpus=min(_number(data, "cpus"), _MOST_CPUS),
        cpu_list=_text(data, "cpu_list"),
        machine=_text(data, "machine")[:64],
        gpus=min(int(_number(data, "gpus")), 1024),
        memory_bytes=int(_number(data, "memory_bytes")),
        shm_bytes=int(_number(data, "shm_bytes")),
        shm_used_bytes=int(_number(data, "shm_used_bytes")),
        pids=int(_number(data, "pids")),
        pids_used=int(_number(data, "pids_used")),
        nofile=int(_number(data, "nofile", least=-1)),
        memlock_bytes=int(_number(data, "memlock_bytes", least=-1)),
        mpi=_text(data, "mpi"),
        mpi_path=_path(data, "mpi_path"),
        daemon=_path(data, "daemon"),
        path=_text(data, "path"),
        ld_library_path=_text(data, "ld_library_path"),
        version=_text(data, "version"),
        cma=_truth(data, "cma"),
        rdma=_truth(data, "rdma"),
        python=_path(data, "python"),
        wrapper=_path(data, "wrapper"),
        link=_path(data, "link"),
    )


def _text(data: Mapping[str, object], key: str) -> str:
    return fields.text(data, key, _TEXT_LIMIT)


def _path(data: Mapping[str, object], key: str) -> str:
    """Read a path; one that is too long or has lost a character would lead elsewhere.

    Some become words of mpirun's command line: one that is not absolute might be an option there.
    """
    value = data.get(key)
    fits = isinstance(value, str) and len(value) <= _PATH_LIMIT and value.isprintable()
    fits = fits and str(value).startswith("/")
    return str(value) if fits else ""


def _texts(data: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = data.get(key)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(v[:64] for v in value[:_LIST_LIMIT] if isinstance(v, str) and v.isprintable())


def _networks(data: Mapping[str, object], key: str) -> tuple[Network, ...]:
    value = data.get(key)
    if not isinstance(value, list | tuple):
        return ()
    found = [_network(one) for one in value[:_LIST_LIMIT] if isinstance(one, Mapping)]
    return tuple(one for one in found if one is not None)


def _network(data: Mapping[str, object]) -> Network | None:
    """Read one network; None unless a tool could be told of it as it stands."""
    name, cidr = data.get("name"), data.get("cidr")
    if not isinstance(name, str) or not isinstance(cidr, str) or not is_interface_name(name):
        return None
    if not _CIDR.fullmatch(cidr):
        return None
    try:
        index = int(_number(data, "index"))
        return Network(name=name, cidr=ipaddress.ip_interface(cidr).with_prefixlen, index=index)
    except ValueError:
        return None


def is_interface_name(text: str) -> bool:
    """Tell whether a text may name an interface, and can stand in a list that has commas."""
    return bool(_INTERFACE_NAME.fullmatch(text))


def _truth(data: Mapping[str, object], key: str) -> bool | None:
    value = data.get(key)
    return value if isinstance(value, bool) else None


def _number(data: Mapping[str, object], key: str, least: float = 0) -> float:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if least <= value < 2**63 else 0
