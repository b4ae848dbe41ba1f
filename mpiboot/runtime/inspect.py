"""Look at this container: CPUs, GPUs, memory, limits, addresses, programs.

Run as a program it prints the facts as JSON, in a process that ends and gives psutil's memory back.
"""

from __future__ import annotations

import ipaddress
import json
import os
import resource
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mpiboot import __version__
from mpiboot.model import shims
from mpiboot.model.facts import Facts, Network
from mpiboot.model.record import replace
from mpiboot.runtime import pids, rlimits, siblings
from mpiboot.runtime.files import head, kernel_text

_CGROUP = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60


def facts(env: Mapping[str, str], link: str = "") -> Facts:
    """Describe this container, as far as no other program has to be asked.

    Args:
        env: the environment that a session has here.
        link: path of the agent's socket.
    """
    shm_bytes, shm_used_bytes = _shm()
    counted = pids.counters()
    return Facts(
        hostname=os.uname().nodename,
        addresses=tuple(addresses()),
        networks=tuple(networks()),
        cpus=cpus(),
        cpu_list=cpu_list(os.sched_getaffinity(0)),
        machine=kernel_text("/proc/sys/kernel/random/boot_id").strip(),
        gpus=gpus(env),
        memory_bytes=_memory(),
        shm_bytes=shm_bytes,
        shm_used_bytes=shm_used_bytes,
        pids=counted.limit or 0,
        pids_used=counted.used or 0,
        nofile=_limit(resource.RLIMIT_NOFILE),
        memlock_bytes=rlimits.locked(),
        path=env.get("PATH", ""),
        ld_library_path=env.get("LD_LIBRARY_PATH", ""),
        version=__version__,
        rdma=any(Path("/dev/infiniband").glob("uverbs*")),
        python=sys.executable,
        wrapper=str(Path(__file__).parents[1] / "link" / "rank.py"),
        link=link,
    )


def addresses() -> list[str]:
    """List this container's addresses, without loopback and link-local ones."""
    return [address for _, address, _ in _interfaces()]


def networks() -> list[Network]:
    """List the networks that this container is on, by interfaces that are up."""
    import socket  # noqa: PLC0415 - beside psutil, for the same reason

    import psutil  # noqa: PLC0415 - a resident agent must not hold it

    up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    index = {name: number for number, name in socket.if_nameindex()}
    return [
        Network(name=name, cidr=f"{address}/{_prefix_length(mask)}", index=index.get(name, 0))
        for name, address, mask in _interfaces()
        if name in up and mask
    ]


def _interfaces() -> list[tuple[str, str, str]]:
    """List interfaces with address and netmask; an alias counts as its interface."""
    import socket  # noqa: PLC0415 - as above

    import psutil  # noqa: PLC0415 - as above

    found = []
    for label, entries in psutil.net_if_addrs().items():
        name = label.partition(":")[0]
        for entry in entries:
            if entry.family not in (socket.AF_INET, socket.AF_INET6) or name == "lo":
                continue
            address = entry.address.split("%")[0]
            if not address.startswith(("127.", "169.254.", "fe80:")):
                found.append((name, address, entry.netmask or ""))
    return found


def _prefix_length(mask: str) -> int:
    return int(ipaddress.ip_address(mask)).bit_count()


def cpus() -> float:
    """Return the CPUs that may be used: the smaller of cgroup quota and affinity."""
    allowed = float(len(os.sched_getaffinity(0)))
    quota = _quota()
    return min(allowed, quota) if quota else allowed


def cpu_list(cpus: Iterable[int]) -> str:
    """Write CPUs as the kernel does, `0-3,8`."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and runs[-1][-1] == cpu - 1:
            runs[-1][1:] = [cpu]
        else:
            runs.append([cpu])
    return ",".join("-".join(map(str, run)) for run in runs)


def _quota() -> float:
    """Return the CPU quota of the cgroup (v2, then v1); 0 when there is none."""
    words = kernel_text(_CGROUP / "cpu.max").strip().split()
    if len(words) == 2 and words[0].isdigit():
        return int(words[0]) / int(words[1])
    for place in ("cpu", "cpu,cpuacct"):
        quota = kernel_text(_CGROUP / place / "cpu.cfs_quota_us").strip()
        period = kernel_text(_CGROUP / place / "cpu.cfs_period_us").strip()
        if quota.isdigit() and period.isdigit() and int(period):
            return int(quota) / int(period)
    return 0.0


def gpus(env: Mapping[str, str]) -> int:
    """Count the GPUs that a session here would see."""
    if env.get("NVIDIA_VISIBLE_DEVICES", "all") in ("", "none", "void"):
        return 0
    nodes = sum(node.name[6:].isdigit() for node in Path("/dev").glob("nvidia[0-9]*"))
    if not nodes and Path("/dev/kfd").exists():
        nodes = len(list(Path("/dev/dri").glob("renderD*")))
    if "CUDA_VISIBLE_DEVICES" in env:
        named = [one for one in env["CUDA_VISIBLE_DEVICES"].split(",") if one.strip()]
        return min(nodes, len(named))
    return nodes


def _memory() -> int:
    import psutil  # noqa: PLC0415 - as above

    total = int(psutil.virtual_memory().total)
    for path in ("memory.max", "memory/memory.limit_in_bytes"):
        text = kernel_text(_CGROUP / path).strip()
        if text.isdigit() and int(text) < _UNLIMITED:
            return min(total, int(text))
    return total


def _shm() -> tuple[int, int]:
    """Return size of /dev/shm, and what is used of it."""
    try:
        seen = os.statvfs("/dev/shm")  # noqa: S108 - its size is the fact
    except OSError:
        return 0, 0
    return seen.f_blocks * seen.f_frsize, (seen.f_blocks - seen.f_bavail) * seen.f_frsize


def _limit(which: int) -> int:
    soft = resource.getrlimit(which)[0]
    return -1 if soft == resource.RLIM_INFINITY else soft


def find_program(name: str, env: Mapping[str, str]) -> str | None:
    """Find a program on PATH, then in the places of administrators' programs; never a shim."""
    path = env.get("PATH", os.defpath)
    found = on_path(name, f"{path}:/usr/local/sbin:/usr/sbin:/sbin")
    return behind_shim(found) if found else None


def on_path(name: str, path: str) -> str | None:
    """Find a program as a shell does, in directories that are separated by colons.

    `shutil.which` does the same, and loads three compression libraries that a worker would keep.
    """
    places = [""] if "/" in name else path.split(os.pathsep) if path else []
    for place in places:
        found = os.path.join(place, name)  # noqa: PTH118 - an empty one is the directory of now
        if os.access(found, os.X_OK) and not os.path.isdir(found):  # noqa: PTH112 - as above
            return found
    return None


def behind_shim(path: str) -> str:
    """Return the real program's path where a shim stands, else the path itself."""
    return shims.real_of(head(path, shims.HEAD_BYTES) or "") or path


def find_daemon(mpirun: str, names: Sequence[str], env: Mapping[str, str]) -> str:
    """Find the daemon of an mpirun: beside it, beside what it is a link to, or on PATH.

    Args:
        mpirun: its path.
        names: how the daemon may be called.
        env: the environment that a session has here.

    Returns:
        its path, empty when there is none.
    """
    places = dict.fromkeys(str(Path(path).parent) for path in (mpirun, os.path.realpath(mpirun)))
    for name in names:
        found = on_path(name, ":".join(places)) or on_path(name, env.get("PATH", os.defpath))
        if found:
            return found
    return ""


def main() -> None:
    """Print the facts for the environment and the link given on stdin."""
    request = json.loads(sys.stdin.buffer.read())
    may_read = siblings.may_read()  # first: what is forked then is small
    found = replace(facts(request["env"], request["link"]), cma=may_read)
    sys.stdout.write(json.dumps(found.to_json()))


if __name__ == "__main__":
    main()
