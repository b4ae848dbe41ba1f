"""How others wait for workers, step by step as their sources do; pure but for the world they act on.

Each returns when it would start mpirun, and raises `GaveUp` where it would fail. None is made
slower than it is: output, argument handling and the start of their interpreters are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol


class GaveUp(Exception):  # noqa: N818 - an end like any other for most of them
    """The peer would end here with an error."""


class World(Protocol):
    """What a wait does to the world; each question is asked once and answered yes or no."""

    def now(self) -> float:
        """Return seconds of a monotonic clock."""

    def sleep(self, seconds: float) -> None:
        """Pause."""

    def resolves(self, host: str) -> bool:
        """Look a name up in this process."""

    def nslookup(self, host: str) -> bool:
        """Look a name up by a program of its own."""

    def banner(self, host: str, timeout_s: float) -> bool:
        """Connect, and read the first byte that comes."""

    def login(self, host: str) -> bool:
        """Log in with a key by paramiko, and close."""

    def ssh(self, host: str, timeout_s: float = 0) -> bool:
        """Run `ssh host true`, with ConnectTimeout where there is one."""

    def at_once(self, one: Callable[[str], bool], hosts: Sequence[str]) -> list[bool]:
        """Do one thing to all hosts, a thread each; return when all have ended."""


def operator_entrypoint(hosts: Sequence[str], world: World) -> None:
    """Wait as the entrypoint of kubeflow/mpi-operator's Intel and MPICH images (v0.8.2).

    nslookup, host by host; pauses from 0.1 s that double, ten retries, then on as if all were well.
    """
    for host in hosts:
        pause = 0.1
        for _ in range(10):
            if world.nslookup(host):
                break
            world.sleep(pause)
            pause *= 2
        else:
            world.nslookup(host)


def operator_backoff(hosts: Sequence[str], world: World) -> None:
    """Wait as the MPI Operator with Open MPI (v0.8.2): not at all, the kubelet starts anew.

    ssh has ConnectionAttempts 10, a second apart; the pod starts at 0, 10, 30, 70, 150 and 310 s.
    """
    begun = world.now()

    def reached(host: str) -> bool:
        for number in range(10):
            if not world.resolves(host):
                return False
            if number:
                world.sleep(1)
            if world.ssh(host):
                return True
        return False

    for starts_at in (0, 10, 30, 70, 150, 310):
        world.sleep(max(0.0, begun + starts_at - world.now()))
        if all(world.at_once(reached, hosts)):
            return
    raise GaveUp("the Job's back-off limit")


def kubeflow_openmpi(hosts: Sequence[str], world: World) -> None:
    """Wait as the `openmpi` package of kubeflow/kubeflow (2018): a whole mpiexec is the probe.

    Ten seconds between tries, 30 of them.
    """
    for _ in range(30):
        if all(world.at_once(world.ssh, hosts)):
            return
        world.sleep(10)
    raise GaveUp("30 tries")


def sagemaker_toolkit(hosts: Sequence[str], world: World) -> None:
    """Wait as aws/sagemaker-training-toolkit (5.1.0): all names first, then login by login.

    Names: 0.1 s that double up to 30 s, for 15 minutes; logins: a second between tries, an hour.
    """
    begun = world.now()
    for host in hosts:
        pause = 0.1
        while not world.resolves(host):
            if world.now() - begun > 900:
                raise GaveUp(host)
            world.sleep(pause)
            pause = min(30.0, pause * 2)
    begun = world.now()
    for host in hosts:
        while not world.login(host):
            if world.now() - begun > 3600:
                raise GaveUp(host)
            world.sleep(1)


def sagemaker_sdk3(hosts: Sequence[str], world: World) -> None:
    """Wait as the MPI driver of aws/sagemaker-python-sdk v3: sweeps from the first host on.

    A sweep ends at its first failure; 5 s between sweeps; 300 s, looked at after a failed sweep.
    """
    begun = world.now()
    while not all(world.login(host) for host in hosts):
        if world.now() - begun > 300:
            raise GaveUp("300 s")
        world.sleep(5)


def horovodrun(hosts: Sequence[str], world: World) -> None:
    """Wait as horovodrun (2626dc87): `ssh true` to all at once, five tries without a pause."""

    def reached(host: str) -> bool:
        return any(world.ssh(host, 10) for _ in range(5))

    if not all(world.at_once(reached, hosts)):
        raise GaveUp("five tries")


def determined(hosts: Sequence[str], world: World) -> None:
    """Wait as Determined's launch layer (c1e9c6d7): a byte of each host's banner, host by host.

    Connections wait 1 s, pauses are 0.1 s, 20 s for all.
    """
    begun = world.now()
    for host in hosts:
        while not world.banner(host, 1):
            if world.now() - begun > 20:
                raise GaveUp(host)
            world.sleep(0.1)


def until_ssh(hosts: Sequence[str], world: World) -> None:
    """Wait as field scripts do (awslabs' pull request 1241): until ssh host true; sleep 3."""
    for host in hosts:
        while not world.ssh(host):
            world.sleep(3)


def sequential_paramiko(hosts: Sequence[str], world: World) -> None:
    """Log in host by host, one try a second: the toolkit's second half."""
    for host in hosts:
        while not world.login(host):
            world.sleep(1)


def parallel_ssh(hosts: Sequence[str], world: World) -> None:
    """Run `ssh host true` to all at once, until all have answered; one try a second."""

    def reached(host: str) -> bool:
        while not world.ssh(host):
            world.sleep(1)
        return True

    world.at_once(reached, hosts)


Peer = Callable[[Sequence[str], World], None]
PEERS: Mapping[str, Peer] = {
    peer.__name__.replace("_", "-"): peer
    for peer in (
        operator_entrypoint, operator_backoff, kubeflow_openmpi, sagemaker_toolkit, sagemaker_sdk3,
        horovodrun, determined, until_ssh, sequential_paramiko, parallel_ssh,
    )
}  # fmt: skip
