"""Where something is written: the private directory, temporary files, shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from mpiboot.model.checkup import Checkup
from mpiboot.model.counting import counted
from mpiboot.model.diagnosis import Finding
from mpiboot.model.places import File
from mpiboot.model.record import replace
from mpiboot.plan import limits
from mpiboot.plan.doctor import strength
from mpiboot.plan.doctor.findings import MIB, doubtful, good, size, tried

_LEAST_FREE = 16 * MIB
_ENGINES_DEFAULT = 64 * MIB
_MORE_SHM = limits.MORE_SHM.format("1g")


def files(seen: Checkup) -> Iterator[Finding]:
    """List the files that tell something about the job, and which of them cannot be read."""
    yield good("; ".join(map(_described, seen.files)) or "none that a platform or a setting names")
    for one in seen.files:
        if not one.readable:
            yield doubtful(
                f"{_described(one)} cannot be read by uid {seen.user.uid}",
                "Kubernetes: fsGroup in the pod's securityContext, or defaultMode of its volume;"
                " elsewhere chmod or chown",
            )


def _described(one: File) -> str:
    return f"{one.path} {one.mode:04o} {one.owner}:{one.group}"


def places(seen: Checkup) -> Iterator[Finding]:
    """Name the private directory, then what else cannot be written, or is full."""
    yield tried(seen.runtime)
    for room in seen.rooms:
        if room.why_not:
            yield doubtful(
                f"{room.path} cannot be written, which is for {room.purpose}: {room.why_not}",
                f"mount a tmpfs or a volume at {room.path}, or name another place",
            )
        elif room.free_bytes is not None and room.free_bytes < _LEAST_FREE:
            yield doubtful(
                f"{room.path} has {size(room.free_bytes)} free, which is for {room.purpose}",
                "make room, or name another place",
            )
        else:
            yield good(f"{room.path} for {room.purpose}{_free(room.free_bytes)}")


def _free(free_bytes: int | None) -> str:
    return "" if free_bytes is None else f", {size(free_bytes)} free"


def shared_memory(seen: Checkup) -> Iterator[Finding]:
    """Ranks of one host talk through /dev/shm, or read each other's memory."""
    shm, all_bytes, free = seen.shm, seen.shm.size_bytes or 0, seen.shm.free_bytes or 0
    share = "MPI, NCCL and data loaders share it, and a rank that finds it full dies of a bus error"
    needs, ranks = strength.needs(seen), strength.slots(seen)
    few = limits.shared_memory(
        replace(seen.facts, shm_bytes=all_bytes, shm_used_bytes=all_bytes - free), needs, ranks
    )
    if shm.why_not:
        yield doubtful(f"{shm.path} cannot be used: {shm.why_not}", _MORE_SHM)
    elif free < _LEAST_FREE:
        yield doubtful(
            f"{shm.path} has {size(free)} of {size(all_bytes)} free: {share}",
            f"remove what dead programs have left there; {_MORE_SHM}",
        )
    elif few is not None:
        yield doubtful(f"{few.text}: {share}", few.remedy)
    elif all_bytes <= _ENGINES_DEFAULT:
        need = f"MPI with {counted(ranks, 'rank')} may need {size(limits.shm_needed(needs, ranks))} of it"
        yield doubtful(f"{shm.path} is {size(all_bytes)}, and {need}: {share}", _MORE_SHM)
    else:
        yield good(f"{shm.path} is {size(all_bytes)}, {size(free)} free")
    if seen.facts.cma is False:
        yield doubtful(
            "ranks may not read each other's memory (process_vm_readv): MPI is told, and copies twice",
            "--cap-add SYS_PTRACE, or a seccomp profile that allows it",
        )
