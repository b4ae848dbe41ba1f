"""Launcher and workers must have one MPI; who has another is told before mpirun stumbles."""

from __future__ import annotations

import pytest

from mpiboot.errors import ConfigError, ExitCode
from mpiboot.model.facts import Facts
from mpiboot.plan import agreement
from mpiboot.plan.agreement import Mpi
from mpiboot.plan.parties import Party

OPEN_MPI = "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n"
HYDRA = "HYDRA build details:\n    Version:                                 4.0.2\n"
INTEL = "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260101 (id: x)\nCopyright\n"
LAUNCHER = Party(name="launcher", facts=Facts(), ranks=False, here=True)


def worker(name: str, mpi: str, path: str = "/usr/bin/orterun", daemon: str = "/d") -> Party:
    facts = Facts(mpi=mpi, mpi_path=path if mpi else "", daemon=daemon if mpi else "")
    return Party(name=name, address="10.0.0.1", facts=facts)


def check(*workers: Party, mpi: str = "Open MPI 4.1.4", by_path: bool = False) -> list[str]:
    return agreement.check([LAUNCHER, *workers], mpi, "/usr/bin/mpirun", by_path=by_path)


@pytest.mark.parametrize(
    ("text", "name", "daemon"),
    [
        (OPEN_MPI, "Open MPI 4.1.4", "orted"),
        (OPEN_MPI.replace("4.1.4", "5.0.7"), "Open MPI 5.0.7", "prted"),
        (HYDRA, "MPICH 4.0.2", "hydra_pmi_proxy"),
        (INTEL, "Intel MPI 2021.18.1", "hydra_bstrap_proxy"),
    ],
)
def test_an_mpi_is_called_by_name_and_version(text: str, name: str, daemon: str) -> None:
    """In one line, which can be read back; and its daemon has a name."""
    assert agreement.called(text) == name
    assert daemon in agreement.daemons(text)
    read = agreement.parsed(name)
    assert read is not None
    assert name.startswith(f"{read.name} {read.major}.{read.minor}.")


def test_an_mpi_that_is_not_known() -> None:
    """It keeps its own words, and nobody guesses its daemon."""
    assert agreement.called("SuperMPI 3\nmore") == "SuperMPI 3"
    assert agreement.called("") == ""
    assert agreement.daemons("SuperMPI 3") == ()
    assert agreement.parsed("SuperMPI 3.1") is None
    assert agreement.parsed("Open MPI") is None


def test_agreement() -> None:
    """The same MPI, up to the last number of its version, needs no words, wherever it is installed."""
    assert (
        check(worker("w1", "Open MPI 4.1.4"), worker("w2", "Open MPI 4.1.9", "/opt/x/mpirun")) == []
    )


@pytest.mark.parametrize("other", ["MPICH 4.1.4", "Open MPI 5.1.4", "Intel MPI 2021.18.1"])
def test_another_family_or_major_version(other: str) -> None:
    """All are shown side by side, with the paths."""
    with pytest.raises(ConfigError) as fault:
        check(worker("w1", "Open MPI 4.1.4"), worker("worker-2", other, "/opt/mpirun"))
    assert fault.value.code == ExitCode.CONFIG
    lines = str(fault.value).split("; ")[0].splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["launcher", "Open", "MPI", "4.1.4", "/usr/bin/mpirun"],
        ["w1", "Open", "MPI", "4.1.4", "/usr/bin/orterun"],
        ["worker-2", *other.split(), "/opt/mpirun"],
    ]


def test_another_minor_version_is_told() -> None:
    """It may work, so it is no fault."""
    (note,) = check(worker("w1", "Open MPI 4.0.3"), worker("w2", "Open MPI 4.1.5"))
    assert "w1 has Open MPI 4.0.3, the launcher Open MPI 4.1.4" in note


@pytest.mark.parametrize(
    ("mpi", "package"),
    [
        ("Open MPI 4.1.4", "openmpi-bin"),
        ("MPICH 4.0.2", "mpich"),
        ("Intel MPI 2021.9.0", "intel-oneapi-mpi"),
    ],
)
def test_mpi_05_a_worker_without_mpi(mpi: str, package: str) -> None:
    """The package to install is named: mpirun itself would end with 127, or wait for ever."""
    with pytest.raises(ConfigError) as fault:
        check(worker("w1", mpi), worker("w2", ""), worker("w3", ""), mpi=mpi)
    text = str(fault.value)
    assert "w2 (and 1 more) has no mpirun on its PATH" in text
    assert f"install {package}" in text


def test_mpi_05_a_worker_without_the_daemon() -> None:
    """An mpirun alone does not help: it is told which one has no daemon."""
    with pytest.raises(ConfigError, match="w1 has /usr/bin/orterun without its daemon"):
        check(worker("w1", "Open MPI 4.1.4", daemon=""))


def test_mpi_called_by_its_path() -> None:
    """Then daemons are found beside it, and what a worker has on PATH is no more than a hint."""
    notes = check(worker("w1", ""), worker("w2", "MPICH 4.0.2"), by_path=True)
    assert [note.split(" on its PATH")[0] for note in notes] == [
        "w1 has no mpirun",
        "w2 has MPICH 4.0.2",
    ]


def test_what_cannot_be_told() -> None:
    """Plain workers tell nothing, an unknown MPI nothing of use: both are said, none is a fault."""
    plain, odd = Party(name="p1", address="10.0.0.7"), worker("w1", "SuperMPI 3")
    notes = check(plain, Party(name="p2", address="10.0.0.8"), odd)
    assert "p1, p2" in notes[0]
    assert "SuperMPI 3" in notes[1]
    assert check(worker("w1", "MPICH 4.0.2"), mpi="SuperMPI 3") == []


def test_the_launchers_own_container_is_not_compared_with_itself() -> None:
    """Its mpirun may have been named on the command line: PATH has no say."""
    here = Party(name="me", facts=Facts(), here=True)
    assert agreement.check([here], "Open MPI 4.1.4", "/opt/mpirun", by_path=False) == []


def agent(name: str, python: str = "/opt/p", wrapper: str = "/opt/rank.py") -> Party:
    return Party(name=name, facts=Facts(python=python, wrapper=wrapper))


def test_a_wrapper_that_all_hosts_have() -> None:
    """It is one command line for all of them."""
    assert agreement.wrapper([agent("l"), agent("w")]) == (
        ("/opt/p", "-I", "-S", "/opt/rank.py"),
        "",
    )


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (Party(name="w2"), "w2 is a plain sshd"),
        (agent("w2", python=""), "w2 does not tell"),
        (agent("w2", python="/usr/p"), "l and w2 have mpiboot in different places: /opt/p"),
        (agent("w2", wrapper="/x/rank.py"), "l and w2 have mpiboot in different places: /opt/p"),
    ],
)
def test_a_wrapper_that_some_have_not(other: Party, why: str) -> None:
    """The host that keeps all from having one is named."""
    words, reason = agreement.wrapper([agent("l"), agent("w1"), other])
    assert words == ()
    assert reason.startswith(why)


def test_reading() -> None:
    """Names have blanks, versions have tails."""
    assert agreement.parsed("Open MPI 5.0.0rc7") == Mpi(name="Open MPI", major=5, minor=0)
