"""Workers behind a program in place of ssh: mpirun is told of it in every way, and ssh of nothing."""

from __future__ import annotations

import shlex

import pytest

from mpiboot.plan import ownargs, ownjob, owntools
from mpiboot.plan.ownjob import Job
from tests.unit.test_ownargs import VERSIONS, job

AGENT = "/etc/mpi/kubexec.sh"
VARIABLE = {
    "Open MPI 4": "OMPI_MCA_plm_rsh_agent",
    "Open MPI 5": "PRTE_MCA_plm_ssh_agent",
    "MPICH": "HYDRA_LAUNCHER_EXEC",
    "Intel MPI": "I_MPI_HYDRA_BOOTSTRAP_EXEC",
}


def behind(dialect: str) -> Job:
    return job(dialect, ssh_config="", rsh_agent=AGENT, given="/etc/mpi/hostfile")


@pytest.mark.parametrize("dialect", VERSIONS)
def test_a_commands_own_mpirun_is_told_of_the_agent(dialect: str) -> None:
    """By the name that this MPI reads, and of no configuration for ssh."""
    told = ownjob.environment(behind(dialect), {}).variables
    assert told[VARIABLE[dialect]] == AGENT
    assert not any("-F" in value for value in told.values())
    again = ownjob.environment(behind(dialect), told)
    assert again.variables == {}


def test_the_operators_own_name_is_translated_once() -> None:
    """What v1 sets for Open MPI 4 reaches Open MPI 5."""
    told = ownjob.environment(behind("Open MPI 5"), {"OMPI_MCA_plm_rsh_agent": AGENT})
    assert told.variables["PRTE_MCA_plm_ssh_agent"] == AGENT


def test_ssh_is_left_alone() -> None:
    """A command that calls ssh itself gets no file that is not there."""
    assert owntools.ssh(["w1", "true"], behind("Open MPI 4")) == ["w1", "true"]
    words = ownargs.translate(["--mca", "plm_rsh_args", "-v", "x"], behind("Open MPI 4"))
    assert words.args == ("--mca", "plm_rsh_args", "-v", "x")


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("Open MPI 4", "--hostfile /etc/mpi/hostfile x", "--hostfile /r/hostfile x"),
        ("Open MPI 5", "--hostfile=/etc/mpi/hostfile x", "--hostfile=/r/hostfile x"),
        ("Open MPI 4", "-machinefile /etc/mpi/hostfile x", "-machinefile /r/hostfile x"),
        ("Open MPI 4", "--hostfile /mine x", "--hostfile /mine x"),
        ("Open MPI 4", "x --hostfile /etc/mpi/hostfile", "x --hostfile /etc/mpi/hostfile"),
    ],
)
def test_the_file_that_hosts_came_from_is_ours(dialect: str, text: str, expected: str) -> None:
    """Mpirun sees the same hosts as the agent does, with its own container under its own name."""
    given = job(dialect, given="/etc/mpi/hostfile")
    assert shlex.join(ownargs.translate(shlex.split(text), given).args) == expected


@pytest.mark.parametrize("flag", ["-f", "-hostfile", "-machinefile"])
@pytest.mark.parametrize("dialect", ["MPICH", "Intel MPI"])
def test_the_file_that_hosts_came_from_is_ours_on_hydra(dialect: str, flag: str) -> None:
    """As above, under each flag that names a hostfile there."""
    given = job(dialect, given="/etc/mpi/hostfile")
    args = ownargs.translate([flag, "/etc/mpi/hostfile", "x"], given).args
    assert args[:3] == (flag, "/r/hostfile", "x")
