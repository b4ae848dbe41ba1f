"""Which network MPI is told to use, and that it has to be told: real Open MPI in real namespaces."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from mpiboot.plan import networks
from mpiboot.plan.networks import Choice
from mpiboot.plan.parties import Party
from tests.helpers.agents import Agents
from tests.helpers.inspecting import seen_in
from tests.helpers.keyfiles import make_key
from tests.helpers.mpis import MPIS, Mpi
from tests.helpers.networks import extra_network, further_address, narrow_network, rename_network
from tests.helpers.plainsshd import plain_sshd

PARAMS = ("btl_tcp_if_include", "oob_tcp_if_include")


class Job:
    """Two pods with an sshd, each with a network more than both share, and one with mpirun.

    Args:
        agents: where the pods are made.
        directory: where files go.
        mpi: an Open MPI.
    """

    def __init__(self, agents: Agents, directory: Path, mpi: Mpi) -> None:
        self._mpi = mpi
        self._directory = directory
        self._key = make_key(directory)
        self.workers = [
            plain_sshd(
                agents, name, host_key=self._key, authorized=[self._key], directory=directory
            ).pod
            for name in ("w1", "w2")
        ]
        self.launcher = agents.start("launcher", ("sleep", "100")).pod
        for number, pod in enumerate(self.workers, start=1):
            extra_network(pod, "cni0", f"10.99.0.{number}/16")

    def choice(self) -> Choice:
        """Choose the network by what the pods themselves tell."""
        pods = [self.launcher, *self.workers]
        return networks.choose(
            [
                Party(
                    name=pod.name,
                    address=pod.address,
                    facts=seen_in(pod),
                    ranks=pod.name != "launcher",
                )
                for pod in pods
            ]
        )

    def ring(self, included: Sequence[str], timeout_s: int) -> subprocess.CompletedProcess[str]:
        """Run two ranks that talk, with Open MPI told to use these networks."""
        (self._directory / "hostfile").write_text("w1 slots=1\nw2 slots=1\n")
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
        ssh = f"-i {self._key} " + " ".join(f"-o {option}" for option in options)
        told = [word for name in PARAMS for word in ("--mca", name, ",".join(included))]
        mpirun = str(self._mpi.home / "bin/mpirun")
        argv = ["timeout", str(timeout_s), mpirun, "--allow-run-as-root", "-np", "2"]
        argv += ["--hostfile", str(self._directory / "hostfile"), "--mca", "plm_rsh_args", ssh]
        argv += ["--mca", "pml", "ob1", "--mca", "btl", "^openib", *(told if included else [])]
        return self.launcher.exec([*argv, *self._mpi.python_program("ring.py")])


@pytest.fixture(params=[mpi for mpi in MPIS if not mpi.hydra], ids=str)
def job(request: pytest.FixtureRequest, agents: Agents, tmp_path: Path) -> Job:
    request.param.need()
    return Job(agents, tmp_path, request.param)


def assert_rings(job: Job, choice: Choice) -> None:
    done = job.ring(choice.included, 30)
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, ["OK 0/2 w1", "OK 1/2 w2"])
    assert "invalid value" not in done.stderr


def test_net_01_a_network_that_is_not_shared(job: Job) -> None:
    """Left alone Open MPI tries a network that leads nowhere, and hangs or fails; told ours, it runs."""
    assert job.ring([], 6).returncode != 0
    choice = job.choice()
    assert (choice.included, choice.name) == (("10.77.0.0/16",), "eth0")
    assert_rings(job, choice)


def test_net_01_hosts_with_bare_addresses(job: Job) -> None:
    """Where each host's network is its own address, one is found that holds them all."""
    for pod in (job.launcher, *job.workers):
        narrow_network(pod, "eth0", pod.address, "10.77.0.0/16")
    choice = job.choice()
    assert set(choice.cidrs) == {f"{pod.address}/32" for pod in (job.launcher, *job.workers)}
    assert choice.included == ("10.77.0.0/30",)
    assert_rings(job, choice)


def test_net_05_interfaces_that_differ_in_name(job: Job) -> None:
    """The network is told by its address, as there is no name that every host knows."""
    rename_network(job.workers[1], "eth0", "net1")
    choice = job.choice()
    assert (choice.included, choice.name) == (("10.77.0.0/16",), "")
    assert choice.per_host == {"launcher": "eth0", "w1": "eth0", "w2": "net1"}
    assert_rings(job, choice)


def test_net_01_interfaces_with_ipv6(job: Job) -> None:
    """On a dual stack the interface is told by name, which no version of Open MPI complains of."""
    for number, pod in enumerate((job.launcher, *job.workers), start=1):
        further_address(pod, "eth0", f"fd00:77::{number}/64")
    choice = job.choice()
    assert (choice.included, choice.cidrs) == (("eth0",), ("10.77.0.0/16",))
    assert_rings(job, choice)
