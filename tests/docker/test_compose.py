"""The compose file: a multi-host job from `up` to the exit code, and the workers that leave."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.docker.conftest import Project
from tests.helpers.eventually import eventually

pytestmark = pytest.mark.docker

HPCC = r"""
mkdir -p /tmp/h && cd /tmp/h
sed -e '6s,.*,400 Ns,;11s,.*,1 Ps,;12s,.*,3 Qs,' -e 's/^1200 10000 30000/400/' \
  /usr/share/doc/hpcc/examples/_hpccinf.txt > hpccinf.txt
hpcc || exit 1
[ "$OMPI_COMM_WORLD_RANK" != 0 ] || grep -E '^(Success|CommWorldProcs|MPIRandomAccess_Errors)=' hpccoutf.txt
"""


def test_up_runs_the_job_on_three_workers_and_ends(project: Project) -> None:
    """`up --scale worker=3 --exit-code-from launcher` returns the job's 0, and workers leave with 0."""
    done = project.compose(
        "up", "--scale", "worker=3", "--exit-code-from", "launcher", env={"MPIBOOT_SLOTS": "1"}
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "sum=6 expected=6 ranks=3 hosts=3" in done.stdout, done.stdout
    assert project.codes("worker") == [0, 0, 0]
    assert "Traceback" not in project.logs("launcher") + project.logs("worker")


def test_hpcc_succeeds_over_three_workers(project: Project, tmp_path: Path) -> None:
    """A real benchmark with results to check runs across three containers."""
    # Three ranks share two cores here: a rank that waits must let the others work.
    kind = ("--mca", "mpi_yield_when_idle", "1")
    job = project.with_command(tmp_path, "launcher", "--slots", "1", *kind, "--", "sh", "-c", HPCC)

    done = job.compose("up", "--scale", "worker=3", "--exit-code-from", "launcher", timeout=240)

    assert done.returncode == 0, done.stdout + done.stderr
    for line in ("Success=1", "CommWorldProcs=3", "MPIRandomAccess_Errors=0"):
        assert line in done.stdout, done.stdout


def test_run_runs_any_command(project: Project) -> None:
    """`run --rm launcher launcher -- CMD` runs CMD on the workers and returns its code."""
    done = project.compose(
        "run", "--rm", "-T", "launcher", "launcher", "--slots", "1", "--", "sh", "-c",
        "echo host=$(hostname); exit 5",
    )  # fmt: skip

    assert done.returncode == 5, done.stdout + done.stderr
    assert len(set(re.findall(r"^host=(\w+)", done.stdout, re.MULTILINE))) >= 1


@pytest.mark.parametrize("code", [0, 7])
def test_life_05_up_returns_by_itself(project: Project, tmp_path: Path, code: int) -> None:
    """Without any abort flag, `up` returns within 15 s of the job's end, whatever its code."""
    script = f"[ $OMPI_COMM_WORLD_RANK != 0 ] || exit {code}"
    job = project.with_command(tmp_path, "launcher", "--slots", "1", "--", "sh", "-c", script)

    done = job.compose("up", "--scale", "worker=2", timeout=60)

    assert project.codes("launcher") == [code], done.stdout + done.stderr
    # `up` is attached to the launcher alone: the workers may still be leaving.
    assert eventually(lambda: project.codes("worker"), 15) == [0, 0], project.logs("worker")
    ended = [one["State"]["FinishedAt"] for one in project.containers("worker")]
    launcher = project.containers("launcher")[0]["State"]["FinishedAt"]
    assert all(_seconds(late) - _seconds(launcher) < 15 for late in ended)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("half", [1, 2])
@pytest.mark.parametrize("code", [0, 7])
def test_life_10_the_launchers_code_is_the_result(
    project: Project, tmp_path: Path, code: int, half: int
) -> None:
    """With abort-on-container-exit the result is the job's code, ten times out of ten."""
    script = f"[ $OMPI_COMM_WORLD_RANK != 0 ] || exit {code}"
    job = project.with_command(tmp_path, "launcher", "--slots", "1", "--", "sh", "-c", script)
    up = ("up", "--abort-on-container-exit", "--exit-code-from", "launcher", "--scale", "worker=2")

    codes = [job.compose(*up, timeout=60).returncode for _ in range(5)]

    assert codes == [code] * 5


def _seconds(stamp: str) -> float:
    """Read docker's RFC 3339 stamps, which have nanoseconds."""
    whole, _, fraction = stamp.rstrip("Z").partition(".")
    return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction or 0}")
