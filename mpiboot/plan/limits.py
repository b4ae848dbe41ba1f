"""Limits of containers: which soft ones the agent moves, what a job needs, what to set where.

The doctor and the launcher say the same of them, with the same figures.
"""

from __future__ import annotations

import errno
import signal as signals
from collections.abc import Iterator, Mapping, Sequence

from mpiboot.errors import ConfigError
from mpiboot.model.counting import counted
from mpiboot.model.facts import Facts
from mpiboot.model.outcome import Failure
from mpiboot.model.record import dataclass, replace
from mpiboot.mpi.protocol import Needs
from mpiboot.plan.causes import size
from mpiboot.plan.evidence import Evidence, Testimony
from mpiboot.plan.layout import Layout

LEAST_FILES, MOST_FILES = 1024, 1 << 20
_FILES = 65536  # what a limit out of that range becomes
_OWN_FILES = 64  # libraries, output, the daemon's own
_FILES_A_RANK = 8  # the daemon's pipes and sockets
_FILES_A_WORKER = 4  # mpirun's pipes to ssh, and a connection
_OWN_PIDS = 8  # a session of sshd, its shell, MPI's daemon and its threads
_LEAST_PIDS = 4  # agent, sshd, its session, the daemon
GPU_SHM_BYTES = 1 << 30  # NCCL's documentation starts containers with it

MORE_SHM = "docker: --shm-size {}; compose: shm_size; Kubernetes: an emptyDir with medium Memory at /dev/shm"
MORE_FILES = (
    "docker: --ulimit nofile=65536:65536; Kubernetes: LimitNOFILE of the node's container runtime"
)
MORE_LOCKED = (
    "docker: --ulimit memlock=-1; Kubernetes: LimitMEMLOCK=infinity of the node's container runtime,"
    " or the capability IPC_LOCK"
)
MORE_PIDS = "docker: --pids-limit; Kubernetes: podPidsLimit of the kubelet"


@dataclass(frozen=True, kw_only=True)
class Concern:
    """A limit that is too low: what is so, and what to set."""

    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.text}; {self.remedy}"


def softened(soft: int, hard: int) -> int | None:
    """Choose the soft limit of open files; None: it stays as it is.

    What lies in a sane range was perhaps chosen. Below it connections fail; above it, programs that
    close every number up to the limit when they start another one take minutes.

    Args:
        soft: the soft limit; -1 is none.
        hard: the hard limit; -1 is none.
    """
    if LEAST_FILES <= soft <= MOST_FILES:
        return None
    wanted = _FILES if hard < 0 else min(hard, _FILES)
    return wanted if wanted != soft else None


def files_of_mpirun(soft: int, workers: int, *, ranks_here: bool) -> int | None:
    """Choose the soft limit of an mpirun that closes every number up to it for each worker.

    A number takes 0.1 µs: with the million that engines give, a tenth of a second for each worker.

    Args:
        soft: the soft limit as it is; -1 is none.
        workers: how many it starts.
        ranks_here: whether ranks inherit it, who may have work of their own for files.

    Returns:
        the limit; None: it stays as it is.
    """
    enough = _FILES if ranks_here else max(LEAST_FILES, _OWN_FILES + _FILES_A_RANK * workers)
    return enough if soft < 0 or soft > enough else None


def files_needed(ranks: int, np: int) -> int:
    """Return how many files a worker's daemon, or a rank that is connected to all, may hold open."""
    return _OWN_FILES + max(np, _FILES_A_RANK * ranks)


def shm_needed(needs: Needs, ranks: int) -> int:
    """Return what the ranks of a host take of /dev/shm, in bytes."""
    return needs.rank_shm_bytes * ranks if ranks > 1 or needs.alone_too else 0


def pids_needed(needs: Needs, ranks: int) -> int:
    """Return how many processes and threads a host's part of the job is, beside what runs there."""
    return _OWN_PIDS + ranks * (1 + needs.rank_threads)  # each rank has a wrapper


def memory_locked(facts: Facts, memlock_bytes: int) -> Concern | None:
    """Find that RDMA devices are there, and memory may not be locked without bound."""
    if not facts.rdma or memlock_bytes < 0:
        return None
    return Concern(
        text=f"there are RDMA devices, and {size(memlock_bytes)} may be locked: they need more",
        remedy=MORE_LOCKED,
    )


def shared_memory(facts: Facts, needs: Needs, ranks: int) -> Concern | None:
    """Find that less of /dev/shm is free than the ranks of a host need."""
    mpi = shm_needed(needs, ranks)
    need = max(mpi, GPU_SHM_BYTES if facts.gpus else 0)
    free = max(0, facts.shm_bytes - facts.shm_used_bytes)
    if not facts.shm_bytes or free >= need:
        return None
    whom = (
        f"{counted(ranks, 'rank')} with {counted(facts.gpus, 'GPU')}"
        if facts.gpus
        else f"MPI with {counted(ranks, 'rank')}"
    )
    text = f"{size(free)} of {size(facts.shm_bytes)} is free in /dev/shm, and {whom} may need {size(need)}"
    mib = -(-2 * need // (1 << 20))  # data loaders and NCCL want some, too
    return Concern(text=text, remedy=MORE_SHM.format(f"{mib}m"))


def processes(facts: Facts, needs: Needs, ranks: int) -> Concern | None:
    """Find that fewer processes and threads are left than the ranks of a host need."""
    need = pids_needed(needs, ranks)
    if not facts.pids or facts.pids - facts.pids_used >= need:
        return None
    return Concern(
        text=f"{facts.pids_used} of {facts.pids} processes and threads are used,"
        f" and {counted(ranks, 'rank needs', 'ranks need')} about {need} more",
        remedy=MORE_PIDS,
    )


def open_files(nofile: int, need: int) -> Concern | None:
    """Find that fewer files may be open than are needed."""
    if not 0 < nofile < need:
        return None
    return Concern(
        text=f"{counted(nofile, 'file')} may be open, and {need} are needed", remedy=MORE_FILES
    )


def warnings(
    layout: Layout, facts: Sequence[Facts | None], own: Facts, needs: Needs
) -> Iterator[str]:
    """Name what limits may break of the job, host by host.

    Args:
        layout: who runs how many ranks.
        facts: what each tells of itself; None for a plain sshd.
        own: of the launcher's container.
        needs: of this MPI.

    Raises:
        ConfigError: on one of them it cannot even start.
    """
    concern = open_files(own.nofile, _OWN_FILES + _FILES_A_WORKER * len(layout.places))
    if concern is not None:
        yield f"the launcher: {concern}"
    for place, one in zip(layout.places, facts, strict=True):
        if one is None:
            continue
        ranks = ranks_of(place.slots, layout)
        _check_pids(place.name, one, ranks)
        for found in (
            open_files(one.nofile, files_needed(ranks, layout.np)),
            memory_locked(one, one.memlock_bytes),
            processes(one, needs, ranks),
            shared_memory(one, needs, ranks),
        ):
            if found is not None:
                yield f"{place.name}: {found}"


def ranks_of(slots: int, layout: Layout) -> int:
    """Return how many ranks a place gets at most."""
    total = max(1, layout.total_slots)
    return min(layout.np, slots * -(-layout.np // total)) if layout.np else slots


def _check_pids(name: str, facts: Facts, ranks: int) -> None:
    least = ranks + _LEAST_PIDS
    if 0 < facts.pids < least:
        raise ConfigError(
            f"{name} may have {facts.pids} processes and threads, and its {counted(ranks, 'rank needs', 'ranks need')}"
            f" {least} at the very least",
            hint=f"raise it ({MORE_PIDS})",
        )


def shm_sizes(layout: Layout, facts: Sequence[Facts | None]) -> Mapping[str, int]:
    """Return the size of /dev/shm by host, where it is known."""
    return {
        place.name: one.shm_bytes
        for place, one in zip(layout.places, facts, strict=True)
        if one is not None
    }


def explained(failure: Failure, evidence: Evidence) -> Failure:
    """Name the size of /dev/shm where a bus error has killed: a full one is what it mostly comes of."""
    if failure.signal != signals.SIGBUS or failure.host not in evidence.shm_bytes:
        return failure
    shm = evidence.shm_bytes[failure.host]
    text = f"/dev/shm of {failure.host} has {size(shm)}, and who finds it full dies so"  # noqa: S108 - a word
    return replace(failure, message=f"{failure.message} ({text}; {MORE_SHM.format('1g')})")


def is_shortage(fault: BaseException) -> bool:
    """Tell whether a fault is that no process or thread can be made; Python has two for it."""
    if isinstance(fault, OSError):
        return fault.errno == errno.EAGAIN
    return isinstance(fault, RuntimeError) and "start new thread" in str(fault)


def raised() -> str:
    """Say what to change where no process or thread can be made."""
    return f"raise its limit ({MORE_PIDS}; or RLIMIT_NPROC: docker --ulimit nproc)"


def refused(evidence: Evidence) -> str:
    """Name the first container whose limit of processes has refused some; empty: none has."""
    seen = {"the launcher": evidence.here, **evidence.testimony}
    return next(filter(None, (told(host, said) for host, said in seen.items())), "")


def told(host: str, said: Testimony) -> str:
    """Tell that a container's limit of processes has refused some; empty: it has not."""
    if not said.forks_refused:
        return ""
    limit = f" of {said.pids_limit}" if said.pids_limit else ""
    return (
        f"{host} came to its limit{limit} processes and threads, which refused"
        f" {said.forks_refused} more ({MORE_PIDS})"
    )
