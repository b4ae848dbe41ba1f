"""What ranks may use: MPI, CPUs, memory, open files, processes; and who is process 1."""

from __future__ import annotations

from collections.abc import Iterator

from mpiboot.errors import ExitCode
from mpiboot.model.checkup import Checkup
from mpiboot.model.counting import counted
from mpiboot.model.diagnosis import Finding, Grade
from mpiboot.model.record import replace
from mpiboot.model.spec import LAUNCHER
from mpiboot.mpi import DIALECTS
from mpiboot.mpi.protocol import Needs
from mpiboot.plan import agreement
from mpiboot.plan import limits as bounds
from mpiboot.plan.doctor.findings import MIB, concerned, doubtful, good, size, tried

_GREEDIEST = Needs(
    rank_shm_bytes=max(one.NEEDS.rank_shm_bytes for one in DIALECTS),
    alone_too=False,
    rank_threads=max(one.NEEDS.rank_threads for one in DIALECTS),
)
_LEAST_MEMORY = 64 * MIB
_INITS = ("tini", "dumb-init", "docker-init", "catatonit", "s6-svscan", "systemd", "pause")


def mpi(seen: Checkup) -> Iterator[Finding]:
    """The launcher wants mpirun, the worker what mpirun starts."""
    if seen.role == LAUNCHER:
        yield tried(seen.mpi)
        return
    facts = seen.facts
    lack = agreement.lack(facts)
    if lack and seen.may_be_elsewhere:
        yield good(f"this worker {lack}; the settings name an MPI by its path")
    elif lack:
        yield Finding(
            grade=Grade.FAIL,
            text=f"this worker {lack}: no ranks can be started here",
            remedy=f"install {agreement.package(facts.mpi)} in the image, or set PATH there; or name"
            " it by path on the launcher with --mpi-home",
            code=int(ExitCode.CONFIG),
        )
    elif agreement.parsed(facts.mpi) is None:
        yield doubtful(
            f"{facts.mpi_path} is an MPI that mpiboot does not know: {facts.mpi or 'it says nothing'}",
            f"install {agreement.package('')}",
        )
    else:
        yield good(f"{facts.mpi}: {facts.mpi_path}; sessions find its daemon {facts.daemon}")


def cpus(seen: Checkup) -> Iterator[Finding]:
    """Ranks that wait spin: more of them than CPUs stand in each other's way."""
    facts = seen.facts
    text = (
        f"{counted(facts.cpus, 'CPU', form='g')} by quota and cpuset, {counted(facts.gpus, 'GPU')}"
    )
    wanted = slots(seen)
    if facts.cpus and wanted > facts.cpus:
        yield doubtful(
            f"{text} for {counted(wanted, 'slot')}: ranks will share CPUs; MPI is told to yield, and is slower",
            "raise the CPU limit, or lower --slots",
        )
    else:
        yield good(f"{text}: {counted(wanted, 'slot')}")


def memory(seen: Checkup) -> Iterator[Finding]:
    """A rank that the kernel kills for want of memory is counted by the cgroup."""
    cgroup = seen.memory
    if not seen.limits.cgroup:
        yield doubtful(
            "no memory cgroup is to be seen: a rank that is killed for want of memory cannot be told"
            " from others",
            "mount /sys/fs/cgroup read-only into the container",
        )
        return
    limit, used = cgroup.limit_bytes, cgroup.used_bytes or 0
    bound = size(limit) if limit is not None else "no limit"
    text = f"{bound}, {size(used)} used (cgroup v{seen.limits.cgroup})"
    if cgroup.oom_kills:
        yield doubtful(
            f"{counted(cgroup.oom_kills, 'process was', 'processes were')} killed here for want of memory: {text}",
            "raise the memory limit, or start fewer ranks here",
        )
    elif limit is not None and limit - used < _LEAST_MEMORY:
        yield doubtful(f"{text}: hardly any is left", "raise the memory limit")
    else:
        yield good(text)


def needs(seen: Checkup) -> Needs:
    """Return what the MPI here needs; of one that is not known, as much as the greediest."""
    return agreement.needs(seen.facts.mpi) or _GREEDIEST


def slots(seen: Checkup) -> int:
    """Return how many ranks may come here."""
    return int(seen.slots) if seen.slots.isdigit() else seen.facts.auto_slots


def limits(seen: Checkup) -> Iterator[Finding]:
    """Too few open files end connections, absurdly many slow each start; RDMA locks memory."""
    limits, ranks = seen.limits, slots(seen)
    soft, hard = limits.nofile
    moved = bounds.softened(soft, hard)
    change = f"; the agent makes it {moved} for all that it starts" if moved is not None else ""
    files = f"{'unlimited' if soft < 0 else soft} open files{change}"
    few = bounds.open_files(soft if moved is None else moved, bounds.LEAST_FILES)
    if few is not None:
        yield doubtful(f"{files}: each rank holds a connection to many others", few.remedy)
    else:
        yield good(files)
    facts = replace(seen.facts, pids=limits.pids or 0, pids_used=limits.pids_used or 0)
    yield from concerned(bounds.memory_locked(facts, limits.memlock_bytes))
    yield from concerned(bounds.processes(facts, needs(seen), ranks))


def first(seen: Checkup) -> Iterator[Finding]:
    """Process 1 gets the signals of a stop, and has to reap orphans."""
    one = seen.first
    name = (one.argv[0] if one.argv else "").rpartition("/")[2]
    if one.agent:
        yield good(f"an mpiboot {one.agent} runs here")
    elif one.here:
        yield good("mpiboot: it handles signals from the first moment, and reaps")
    elif name in _INITS:
        yield good(f"{name}: signals reach its child, and orphans are reaped")
    elif one.catches:
        yield good(f"{' '.join(one.argv)[:80] or 'not to be seen'}")
    else:
        yield doubtful(
            f"{' '.join(one.argv)[:80]} has no handler for TERM: a stop takes the whole grace and ends"
            " with 137",
            "make mpiboot the container's entry point, without a shell before it",
        )
