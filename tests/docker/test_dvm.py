"""Several mpiruns of Open MPI 5 in one job share their daemons, and fail as others do."""

from __future__ import annotations

import pytest

from tests.docker.conftest import Box, docker
from tests.docker.test_every_mpi import MOUNT, launch, workers
from tests.docker.test_images import image
from tests.helpers.eventually import eventually

pytestmark = pytest.mark.docker

DVM = ("--dvm", "--no-failure-is-final")
# Daemons on the workers, by the ids of their processes: the same ones in each call.
DAEMONS = "mpirun sh -c 'echo $(hostname) $(pgrep -xo prted)'"


@pytest.mark.parametrize(("options", "daemons"), [((), 10), (("--dvm",), 2)], ids=["anew", "dvm"])
def test_daemons_of_five_calls(box: Box, options: tuple[str, ...], daemons: int) -> None:
    """With --dvm each call finds the same daemons; without, each has its own."""
    workers(box, "openmpi5")
    script = f"for i in 1 2 3 4 5; do {DAEMONS} || exit; done"
    done = launch(box, "openmpi5", "sh", "-c", script, options=options)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 10
    assert len(set(done.stdout.splitlines())) == daemons, done.stdout
    assert [box.wait("w1"), box.wait("w2")] == [0, 0]


def test_the_third_fails(box: Box) -> None:
    """Its code is the script's, and its rank is named; nothing is left on workers that wait."""
    workers(box, "openmpi5", "--retry-grace", "60")
    fail = "mpirun sh -c 'exit $((OMPI_COMM_WORLD_RANK * 7))'"
    script = f"set -e; mpirun true; mpirun true; {fail}; mpirun true"
    done = launch(box, "openmpi5", "sh", "-c", script, options=DVM)
    assert done.returncode == 7, done.stderr
    assert "exit 7: rank 1 on w2 ended with 7" in done.stderr
    for name in ("w1", "w2"):
        assert box.exec(name, "pgrep", "-x", "prted").returncode == 1


def assert_asleep(box: Box) -> None:
    """The last mpirun's rank runs on w2."""
    assert box.exec("w2", "pgrep", "-x", "sleep").returncode == 0, box.logs("launcher")


def test_a_worker_is_killed(box: Box) -> None:
    """The job ends with 241 and names it; nothing is left on the other."""
    workers(box, "openmpi5", "--retry-grace", "60")
    box.start(
        "launcher", "launcher", "--hosts", "w1:1,w2:1", *DVM, "--",
        "sh", "-c", "mpirun true; mpirun echo second; mpirun sleep 60",
        image=image("openmpi5", "-test"), options=MOUNT,
    )  # fmt: skip
    eventually(lambda: assert_asleep(box), 30, 0.2)
    docker("kill", f"{box.run}-w2", check=True)
    assert box.wait("launcher", 60) == 241
    assert "exit 241: w2" in box.logs("launcher")
    assert box.exec("w1", "pgrep", "-x", "prted|sleep").returncode == 1


def test_the_launcher_is_stopped(box: Box) -> None:
    """TERM ends all, as without daemons that stay."""
    workers(box, "openmpi5", "--retry-grace", "60")
    box.start(
        "launcher", "launcher", "--hosts", "w1:1,w2:1", *DVM, "--",
        "sh", "-c", "mpirun true; mpirun sleep 60",
        image=image("openmpi5", "-test"), options=MOUNT,
    )  # fmt: skip
    eventually(lambda: assert_asleep(box), 30, 0.2)
    assert box.stop("launcher", 30) < 20
    assert box.state("launcher")["ExitCode"] == 143
    for name in ("w1", "w2"):
        assert box.exec(name, "pgrep", "-x", "prted|sleep").returncode == 1


NONE = [
    ("mpich", ("mpirun", "hostname"), "MPICH has none"),
    ("openmpi5", ("hostname",), "the command calls no mpirun itself"),
]


@pytest.mark.parametrize(("stack", "command", "why"), NONE, ids=["mpich", "no-mpirun"])
def test_it_has_no_effect(box: Box, stack: str, command: tuple[str, ...], why: str) -> None:
    """The setting never breaks a job, and the log tells why it does nothing."""
    workers(box, stack)
    done = launch(box, stack, *command, options=("--dvm",))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["w1", "w2"]
    assert f"--dvm has no effect: {why}" in done.stderr
