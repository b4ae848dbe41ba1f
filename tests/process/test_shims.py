"""The user's own mpirun, on every MPI: variables and stand-ins bring it to this job's workers."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpiboot.local.cluster import Cluster
from mpiboot.model.record import replace
from tests.helpers.agents import Agents
from tests.helpers.mpis import MPIS, OPENMPI4, WHEELS, Mpi
from tests.helpers.ownjobs import PORT, STANDIN, Field

OPENMPI5 = next(mpi for mpi in MPIS if mpi.name == "openmpi5")


@pytest.fixture(params=MPIS, ids=str, scope="module")
def field(
    request: pytest.FixtureRequest, root: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Field]:
    """Two workers and a client, for all tests with one MPI."""
    mpi: Mpi = request.param
    mpi.need()
    directory = tmp_path_factory.mktemp(mpi.name)
    with Cluster() as cluster:
        agents = Agents(cluster, directory)
        yield Field(agents, mpi, directory, names={"w_2": "w2"})


def ring(field: Field) -> tuple[str, ...]:
    return field.mpi.python_program("ring.py")


def assert_ring(done: subprocess.CompletedProcess[str], *hosts: str) -> None:
    assert done.returncode == 0, done.stderr
    expected = [f"OK {rank}/{len(hosts)} {host}" for rank, host in enumerate(hosts)]
    assert sorted(line[line.find("OK") :] for line in done.stdout.splitlines()) == expected


def notes(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("[mpiboot launcher] ")]


def test_by_name(field: Field) -> None:
    """`mpirun` without hosts runs on the workers, with their ports and keys, and nothing is said."""
    done = field.run("mpirun", "-np", "2", *ring(field))
    assert_ring(done, "w1", "w2")
    assert notes(done) == []


def test_without_a_number_of_ranks(field: Field) -> None:
    """All slots of the workers, no more and no fewer."""
    assert_ring(field.run("mpiexec", *ring(field)), "w1", "w2")


def test_by_path(field: Field) -> None:
    """A path to the real program, and one in a script, find the workers by variables alone."""
    real = str(field.mpi.home / "bin/mpirun")
    assert_ring(field.run(real, "-np", "2", *ring(field)), "w1", "w2")
    assert_ring(field.run("sh", "-c", f'{real} -np 2 "$@"', "sh", *ring(field)), "w1", "w2")


def test_hydra_by_path(field: Field) -> None:
    """Intel's own program behind its script takes each worker's slots, too."""
    real = field.mpi.home / "bin/mpiexec.hydra"
    if not field.mpi.hydra:
        pytest.skip("has no hydra")
    assert_ring(field.run(str(real), "-np", "2", *ring(field)), "w1", "w2")


def test_without_the_environment(field: Field) -> None:
    """Stand-ins know the job themselves: `env -i` takes nothing from them."""
    path = field.env["PATH"]
    done = field.run("env", "-i", "HOME=/root", f"PATH={path}", "mpirun", "-np", "2", *ring(field))
    assert_ring(done, "w1", "w2")


@pytest.mark.parametrize(
    ("hosts", "placed"),
    [("w1:1,w2:1", ["w1", "w2"]), ("w2:1", ["w2"]), ("w2,w1", ["w2", "w1"])],
)
def test_with_hosts_of_the_users(field: Field, hosts: str, placed: list[str]) -> None:
    """The user's own choice among the workers counts; slots come from it, or from none."""
    flag = "-hosts" if field.mpi.hydra else "-H"
    done = field.run("mpirun", "-np", str(len(placed)), flag, hosts, *ring(field))
    assert_ring(done, *placed)


def test_with_a_name_that_mpirun_does_not_know(field: Field) -> None:
    """The user's name for a worker becomes the one that stands in the hostfile, and the log says so."""
    flag = "-hosts" if field.mpi.hydra else "-H"
    done = field.run("mpirun", "-np", "1", flag, "w_2:1", *ring(field))
    assert_ring(done, "w2")
    assert len(notes(done)) == 1


def test_horovods_documented_line(field: Field) -> None:
    """The line of Horovod's documentation runs on every MPI; what it had to become is told."""
    words = shlex.split(
        "--allow-run-as-root -np 2 -bind-to none -map-by slot -x NCCL_DEBUG=INFO -x PATH"
        " -mca pml ob1 -mca btl ^openib"
    )
    done = field.run("mpirun", *words, *ring(field))
    assert_ring(done, "w1", "w2")
    said = "\n".join(notes(done))
    assert ("-bind-to none → --bind-to none" in said) == (field.mpi == OPENMPI5)
    assert ("-mca pml ob1 is left out" in said) == field.mpi.hydra
    assert bool(said) == (field.mpi != OPENMPI4)


def test_two_programs(field: Field) -> None:
    """Each program of a launch has its own words; those behind it are its own.

    The binding stands with the second one: given with the first alone, mpirun 5.0.11 itself hangs after
    its last rank in one run of six.
    """
    first = ("-np", "1", "-x", "A=b c", "sh", "-c", 'echo "$A"')
    second = ("-np", "1", "-bind-to", "none", "echo", "-bind-to", "none")
    done = field.run("mpirun", *first, ":", *second)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["-bind-to none", "b c"]


def test_code(field: Field) -> None:
    """The real program takes the stand-in's place: its code is mpirun's own."""
    assert field.run("mpirun", "-np", "1", "sh", "-c", "exit 7").returncode == 7


def test_wrapped_ranks(field: Field) -> None:
    """Ranks of the user's own mpirun go through the wrapper, too."""
    options = json.dumps({"mpi": field.mpi.dialect.FAMILY})
    wrapper = (sys.executable, "-I", "-S", str(STANDIN.with_name("rank.py")), options)
    directory = field.directory / "wrapped"
    field.lay_out(replace(field.job, wrapper=wrapper), directory)
    mpirun = str(directory / "bin/mpirun")
    assert_ring(field.run(mpirun, "-np", "2", *ring(field)), "w1", "w2")
    parent = field.run(mpirun, "-np", "1", "sh", "-c", "cat /proc/$PPID/cmdline; exit 7")
    assert "rank.py" in parent.stdout
    assert parent.returncode == 7


def test_horovodrun(field: Field) -> None:
    """Horovod's launcher gets the workers; its ssh and its mpirun reach them, and it fits this MPI."""
    done = field.run("horovodrun", *ring(field))
    assert_ring(done, "w1", "w2")
    assert "[mpiboot launcher] horovodrun -H w1:1,w2:1 -np 2: the workers of this job" in notes(
        done
    )


def test_real_horovodrun(agents: Agents, tmp_path: Path) -> None:
    """Horovod 0.28.1, whose own flags end with 66 on Open MPI 5, trains there."""
    home = WHEELS / "horovod"
    mpi = Mpi(name="openmpi5", home=home, python=home / "bin/python")
    if not (home / "bin/horovodrun").exists():
        pytest.skip(f"no Horovod on Open MPI 5 in {home}")
    field = Field(agents, mpi, tmp_path)
    job = mpi.python_program("horovod_sum.py")
    given = ("-np", "2", "-H", "w1:1,w2:1", "--mpi")
    for words in (given, ("-np", "2"), ("--ssh-port", str(PORT), "--disable-cache")):
        assert_ring(field.run("horovodrun", *words, *job, timeout_s=90), "w1", "w2")


def test_ssh(field: Field) -> None:
    """A plain `ssh` to a worker logs in as mpirun does; to other hosts it knows no more than before."""
    done = field.run("ssh", "-o", "StrictHostKeyChecking=no", "w1", "hostname")
    assert (done.stdout, done.returncode) == ("w1\n", 0), done.stderr
    done = field.run("ssh", "root@w_2", "hostname")
    assert (done.stdout, done.returncode) == ("w2\n", 0), done.stderr
    other = field.run("ssh", "-G", "other")
    assert "\nport 22\n" in other.stdout


def test_off(field: Field) -> None:
    """MPIBOOT_SHIMS=off: the words as given, with the variables still."""
    done = field.run(
        "mpirun", "-np", "2", "-bind-to", "none", *ring(field), env={"MPIBOOT_SHIMS": "off"}
    )
    if field.mpi == OPENMPI5:
        assert done.returncode == 66
    else:
        assert done.returncode == 0, done.stderr
    assert notes(done) == []
