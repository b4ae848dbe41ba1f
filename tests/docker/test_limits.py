"""Containers with the limits that engines set: what the agent moves, and what it says of the rest."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.docker.conftest import TEST_IMAGE, Box, docker
from tests.helpers.mounting import mounts

pytestmark = pytest.mark.docker

LIMITS = "echo files $(ulimit -Sn) of $(ulimit -Hn), locked $(ulimit -Sl)"
# A rank that fills /dev/shm by writing to a mapping, which is how MPI does it.
FILL = (
    "import mmap;f=open('/dev/shm/big','w+b');f.truncate(100<<20);m=mmap.mmap(f.fileno(),100<<20);"
    "[m.__setitem__(i,1) for i in range(0,100<<20,4096)]"
)


def run(
    box: Box,
    *command: str,
    worker: tuple[str, ...] = (),
    launcher: tuple[str, ...] = (),
    slots: int = 2,
) -> tuple[int, str]:
    """Run a job on one worker; return its code and the launcher's log.

    Args:
        box: where.
        command: of the job.
        worker: options of the worker's container.
        launcher: of the launcher's.
        slots: of the worker.
    """
    box.start("w1", "worker", image=TEST_IMAGE, options=(*mounts("openmpi4"), *worker))
    box.start(
        "launcher", "launcher", "--hosts", f"w1:{slots}", "--", *command,
        image=TEST_IMAGE, options=(*mounts("openmpi4"), *launcher),
    )  # fmt: skip
    code = box.wait("launcher")
    log = box.logs("launcher")
    assert "Traceback" not in log + box.logs("w1")
    return code, log


def test_res_08_too_few_open_files(box: Box) -> None:
    """24 of at most 1,024: the job runs, and ranks see a soft limit of 1,024, as mpirun has it."""
    tight = ("--ulimit", "nofile=24:1024")
    code, log = run(box, "sh", "-c", LIMITS, worker=tight, launcher=tight)
    assert code == 0, log
    assert log.count("files 1024 of 1024") == 2
    assert "the limit was 24, and is 1024" in log


def _most_files() -> int:
    """Return the greatest limit of open files that this engine can give a container, up to 2**30."""
    for most in (1 << 30, 1 << 20, 20000):
        options = ("--rm", "--ulimit", f"nofile={most}:{most}", "--entrypoint", "true")
        if docker("run", *options, TEST_IMAGE).returncode == 0:
            return most
    pytest.skip("this engine gives no container 20,000 open files")


def test_res_08_as_many_open_files_as_there_are(box: Box) -> None:
    """Ranks see a sane soft limit, and the start takes less than 2 s longer than with 1,024.

    A busy machine may slow any one run down, loops over all descriptors slow every run.
    """
    most = _most_files()
    soft = most if most <= 1 << 20 else 65536
    slower_s = (_timed(box, most, soft) - _timed(box, 1024, 1024) for _ in range(3))
    assert any(one < 2 for one in slower_s)


def _timed(box: Box, limit: int, soft: int) -> float:
    """Run a job under a limit of open files; return its seconds, once ranks saw the soft limit."""
    options = ("--ulimit", f"nofile={limit}:{limit}")
    begun = time.monotonic()
    code, log = run(box, "sh", "-c", LIMITS, worker=options, launcher=options)
    took_s = time.monotonic() - begun
    assert code == 0, log
    assert log.count(f"files {soft} of {limit}") == 2
    docker("rm", "-f", f"{box.run}-w1", f"{box.run}-launcher", check=True)
    return took_s


def test_res_09_locked_memory_with_rdma_devices(box: Box, tmp_path: Path) -> None:
    """Host, value and the engine's option are named; the soft limit is raised to the hard one."""
    (tmp_path / "uverbs0").touch()
    device = ("-v", f"{tmp_path}/uverbs0:/dev/infiniband/uverbs0")
    code, log = run(box, "sh", "-c", LIMITS, worker=("--ulimit", "memlock=32768:65536", *device))
    assert code == 0, log
    assert "w1: there are RDMA devices, and 64 KiB may be locked" in log
    assert "--ulimit memlock=-1" in log
    assert log.count("locked 64") == 2


def test_res_09_who_may_lock_without_bound(box: Box, tmp_path: Path) -> None:
    """The capability IPC_LOCK makes root's limit void: nothing is said."""
    (tmp_path / "uverbs0").touch()
    device = ("-v", f"{tmp_path}/uverbs0:/dev/infiniband/uverbs0")
    able = ("--cap-add", "IPC_LOCK", "--ulimit", "memlock=65536:65536")
    code, log = run(box, "true", worker=(*able, *device))
    assert code == 0, log
    assert "may be locked" not in log


def test_res_09_without_devices_nothing_is_said(box: Box) -> None:
    """Little memory that may be locked is all that most jobs need."""
    code, log = run(box, "true", worker=("--ulimit", "memlock=65536:65536"))
    assert code == 0, log
    assert "may be locked" not in log


def test_res_01_too_little_shared_memory_is_told_before_the_start(box: Box) -> None:
    """Host, size, need of two ranks, and what to set."""
    code, log = run(box, "true", worker=("--shm-size", "1m"))
    assert code == 0, log
    (line,) = [one for one in log.splitlines() if "/dev/shm" in one]
    assert "w1: 1 MiB of 1 MiB is free in /dev/shm, and MPI with 2 ranks may need 8 MiB" in line
    assert "--shm-size" in line


def test_res_01_a_rank_that_finds_shared_memory_full(box: Box) -> None:
    """A bus error: 135, and the final report has /dev/shm, the host and the size."""
    code, log = run(box, "python3", "-c", FILL, slots=1)
    assert code == 135, log
    (line,) = [one for one in log.splitlines() if "exit 135" in one]
    assert "/dev/shm of w1 has 64 MiB" in line


def test_res_01_what_dead_ranks_left_is_removed(box: Box, tmp_path: Path) -> None:
    """A worker removes it as it starts; what a process of another container has open stays."""
    dead, alive = (tmp_path / f"vader_segment.w1.0.c0ffee.{rank}" for rank in (0, 1))
    dead.write_bytes(bytes(4096))
    with alive.open("wb"):
        code, log = run(box, "true", worker=("-v", f"{tmp_path}:/dev/shm"))
    assert code == 0, log
    assert "removed 1 segment of dead ranks from /dev/shm: 4 KiB" in box.logs("w1")
    assert (dead.exists(), alive.exists()) == (False, True)


def test_too_few_processes_for_the_ranks(box: Box) -> None:
    """Where not even the bare ranks fit the launcher refuses: container, limit, option; code 78."""
    code, log = run(box, "true", worker=("--pids-limit", "25"), slots=24)
    assert code == 78, log
    assert "w1 may have 25 processes and threads, and its 24 ranks need 28" in log
    assert "--pids-limit" in log


def test_a_limit_of_processes_that_the_job_runs_into(box: Box) -> None:
    """A rank that starts too many fails by itself; the last line names container and limit."""
    forks = "for i in $(seq 60); do sleep 20 & done"  # dash gives up at the first refusal
    code, log = run(box, "sh", "-c", forks, worker=("--pids-limit", "40"), slots=1)
    assert code not in (0, 250), log
    (line,) = [one for one in log.splitlines() if f"exit {code}:" in one]
    assert "w1 came to its limit of 40 processes and threads" in line


def test_a_worker_that_cannot_start_its_helpers(box: Box) -> None:
    """The limit is named in one line, with 242, and neither a traceback nor a hang."""
    name = box.start("w1", "worker", options=(*mounts("openmpi4"), "--pids-limit", "2"))
    assert box.wait("w1") == 242, box.logs("w1")
    log = docker("logs", name).stderr
    assert "Traceback" not in log
    assert "--pids-limit" in log


@pytest.mark.parametrize("most", [6, 7, 9, 10, 12])
def test_a_launcher_that_cannot_start_its_helpers(box: Box, most: int) -> None:
    """Whatever it fails of, its last line has what to change, and there is no traceback.

    With twelve mpirun sometimes just comes through, and else Open MPI 4 would wait for ever.
    """
    few = ("--pids-limit", str(most), "-e", "MPIBOOT_WAIT_TIMEOUT=8")
    code, log = run(box, "true", launcher=few)
    assert code != 250, log
    assert code != 0 or most > 10, log
    assert code == 0 or "--pids-limit" in log.splitlines()[-1], log
