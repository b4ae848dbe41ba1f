"""MPIJobs and TrainJobs of every release on every MPI: unchanged commands run on all workers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest

from tests.docker.conftest import Box
from tests.helpers.operated import NEEDS_ROOT, Operated
from tests.helpers.operator import RELEASES, Job

pytestmark = [pytest.mark.docker, NEEDS_ROOT]

STACKS = {
    "OpenMPI": ("openmpi4", "openmpi5"),
    "Intel": ("intelmpi",),
    "MPICH": ("mpich", "mpich4.0"),
}
SUM = ("python3", "/opt/mpiboot/share/programs/allreduce.py")
MATRIX = [
    pytest.param(stack, job, id=f"{job}-{stack}")
    for release in RELEASES
    for implementation, stacks in STACKS.items()
    for as_worker in (False, True)
    for domain in ("", "cluster.local")
    if Job.exists(release, implementation, as_worker=as_worker, domain=domain)
    for job in [
        Job(release=release, implementation=implementation, as_worker=as_worker, domain=domain)
    ]
    for stack in stacks
]


def waited_s(operated: Operated) -> float:
    """Read how long the launcher has waited."""
    log = operated.box.logs(operated.job.launcher)
    found = re.search(r"workers? ready after ([\d.]+) s", log)
    assert found, log
    return float(found[1])


def assert_on_all(operated: Operated) -> None:
    """Assert that the job has run on every host that it has, and all have left."""
    box, job = operated.box, operated.job
    code = box.wait(job.launcher, 120)
    log = box.logs(job.launcher)
    assert code == 0, log
    hosts = job.count + job.as_worker
    assert f"ranks={hosts} hosts={hosts}" in log, log
    assert operated.codes() == [0] * job.count


@pytest.mark.parametrize(("stack", "job"), MATRIX)
def test_every_release_on_every_mpi(box: Box, tmp_path: Path, stack: str, job: Job) -> None:
    """An unchanged `mpirun PROGRAM` runs on all workers, and the launcher where it is one.

    The launcher's own name is never published, and costs 0 s.
    """
    operated = Operated(box, stack, job, tmp_path)
    operated.workers()
    for name in job.workers:
        operated.publish(name)
    operated.launcher("mpirun", *SUM)

    assert_on_all(operated)
    assert waited_s(operated) < 5
    assert job.record(job.launcher) not in operated.queries()
    assert not any(name.startswith(f"{job.launcher}.") for name in operated.queries())


@pytest.mark.parametrize("as_worker", [False, True])
@pytest.mark.parametrize(
    ("stack", "implementation"),
    [(stack, one) for one, stacks in STACKS.items() for stack in stacks],
)
def test_a_program_alone(
    box: Box, tmp_path: Path, stack: str, implementation: str, *, as_worker: bool
) -> None:
    """The command may leave `mpirun` to the agent."""
    operated = Operated(
        box, stack, Job(implementation=implementation, as_worker=as_worker), tmp_path
    )
    operated.workers()
    for name in operated.job.workers:
        operated.publish(name)
    operated.launcher(*SUM)
    assert_on_all(operated)


@pytest.mark.parametrize(("late_s", "stack"), [(3, "openmpi4"), (12, "openmpi5")])
def test_a_late_record_is_waited_for(box: Box, tmp_path: Path, late_s: int, stack: str) -> None:
    """A worker whose record appears late is waited for, and no longer than 1.5 s beyond."""
    job = Job()
    operated = Operated(box, stack, job, tmp_path)
    operated.workers()
    operated.publish(job.workers[0])
    operated.launcher(*SUM)
    operated.publish(job.workers[1], after_s=late_s)

    assert_on_all(operated)
    assert waited_s(operated) < late_s + 1.5


def test_a_failed_attempt_is_tried_again(box: Box, tmp_path: Path) -> None:
    """The next launcher finds the same workers, under names that it had before."""
    job = Job()
    operated = Operated(box, "openmpi5", job, tmp_path)
    operated.workers()
    for name in job.workers:
        operated.publish(name)
    operated.launcher("sh", "-c", "exit 3")
    assert box.wait(job.launcher, 60) == 3
    assert [box.state(name)["Status"] for name in job.workers] == ["running"] * 2

    volume = ("-v", f"{tmp_path}/mpi:/etc/mpi:ro")
    operated.start("again", "launcher", job.launcher_env(), "--", *SUM, volumes=volume)
    assert box.wait("again", 60) == 0, box.logs("again")
    assert operated.codes() == [0, 0]


# Contract 1.7: who, where the Secret is mounted, group of the volume, release; None: it works.
KEYS = {
    "root": (None, "/root/.ssh", None, "v0.8", None),
    "root-fsgroup": (None, "/root/.ssh", 1337, "v0.8", None),
    "root-other-path": (None, "/home/mpiuser/.ssh", None, "v0.8", None),
    "1000": (1000, "/home/mpiuser/.ssh", None, "v0.8", None),
    "1000-default-path": (1000, "/root/.ssh", None, "v0.8", "sshAuthMountPath"),
    "1000-trainer-fsgroup": (1000, "/home/mpiuser/.ssh", 1000, "trainer", None),
    "1000-trainer": (1000, "/home/mpiuser/.ssh", None, "trainer", "fsGroup"),
    "random": (1234567, "/home/mpiuser/.ssh", None, "v0.8", None),
}


@pytest.mark.parametrize("row", KEYS)
def test_keys_as_they_are_mounted(box: Box, tmp_path: Path, row: str) -> None:
    """Whoever can read the key can use it; who cannot ends at once, with the remedy."""
    uid, mount, group, release, remedy = KEYS[row]
    job = Job(release=release)
    operated = Operated(box, "openmpi4", job, tmp_path, mount=mount, uid=uid, fs_group=group)
    operated.workers()
    if remedy is not None:
        assert_refused(operated, remedy)
        return
    for name in job.workers:
        operated.publish(name)
    operated.launcher(*SUM)
    assert_on_all(operated)


def assert_refused(operated: Operated, remedy: str) -> None:
    """Assert that the workers end at once and say what to change."""
    assert operated.codes(15) == [78, 78]
    # They live for a fifth of a second, and for 2 s where five others want each CPU.
    assert min(lived_s(operated.box.state(name)) for name in operated.job.workers) < 5
    assert remedy in operated.box.logs(operated.job.workers[0])


def lived_s(state: Mapping[str, str]) -> float:
    """Return how long a container ran, as the engine saw it."""
    begun, ended = (
        datetime.fromisoformat(state[key][:26].rstrip("Z") + "+00:00")
        for key in ("StartedAt", "FinishedAt")
    )
    return (ended - begun).total_seconds()


def capabilities(*names: str) -> tuple[str, ...]:
    """Return the options of `docker run` that leave a container these capabilities alone."""
    added = (word for name in names for word in ("--cap-add", name))
    return ("--cap-drop", "ALL", *added)


# Contract 1.9, as far as containers tell: options of docker, uid, whether sshd has a file capability
# as in the operator's own base images, and the remedy; None: it works.
RESTRICTED = (*capabilities(), "--security-opt", "no-new-privileges")
READ_ONLY = ("--read-only", "--tmpfs", "/run:mode=1777")
CONTEXTS = {
    "root-default": ((), None, False, None),
    "root-none": (capabilities(), None, False, "SETGID, SETUID, SYS_CHROOT"),
    "root-bind": (capabilities("NET_BIND_SERVICE"), None, False, "SETGID, SETUID, SYS_CHROOT"),
    "root-four": (
        capabilities("NET_BIND_SERVICE", "SYS_CHROOT", "SETUID", "SETGID"), None, False, None),
    "1000-read-only": ((*READ_ONLY, "--tmpfs", "/tmp"), 1000, False, None),
    "1000-restricted": (RESTRICTED, 1000, False, None),
    "1000-capable": ((), 1000, True, None),
    "1000-restricted-capable": (RESTRICTED, 1000, True, None),
    "1000-no-place-to-copy": (
        (*RESTRICTED, *READ_ONLY, "--tmpfs", "/tmp"), 1000, True, "MPIBOOT_RUNTIME_DIR"),
}  # fmt: skip


@pytest.mark.parametrize("row", CONTEXTS)
def test_security_contexts(box: Box, tmp_path: Path, row: str) -> None:
    """What can work, works; the others end with words that help, not in silence."""
    options, uid, capable, remedy = CONTEXTS[row]
    mount = "/root/.ssh" if uid is None else "/home/mpiuser/.ssh"
    operated = Operated(box, "openmpi4", Job(), tmp_path, mount=mount, uid=uid)
    if capable:
        options += ("-v", f"{operated.capable_sshd()}:/usr/sbin/sshd:ro")
    for name in operated.job.workers:
        operated.start(name, "worker", operated.job.worker_env(), volumes=options)
    if remedy is not None:
        assert_refused(operated, remedy)
        return
    for name in operated.job.workers:
        operated.publish(name)
    operated.launcher(*SUM)
    assert_on_all(operated)
