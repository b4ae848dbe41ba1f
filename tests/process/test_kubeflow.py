"""Pods of an MPIJob, as each release makes them, without a cluster: real ssh and mpirun, their files.

The operator's paths cannot be made on this machine, so its variables name the hostfile elsewhere;
tests/docker/test_operator.py has them as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mpiboot.local.cluster import Bind
from tests.helpers import operator
from tests.helpers.agents import MPIBOOT, Agent, Agents
from tests.helpers.keyfiles import make_key
from tests.helpers.mpis import MPIS, OPENMPI4, Mpi
from tests.helpers.operator import HOSTFILE, Job
from tests.helpers.plainsshd import plain_sshd

IMPLEMENTATION = {"mpich": "MPICH", "intelmpi": "Intel"}
IN_POD = "/run/mpi"


@pytest.fixture(params=MPIS, ids=str)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI in turn."""
    chosen: Mpi = request.param
    chosen.need()
    return chosen


class Pods:
    """The pods of one job."""

    def __init__(self, agents: Agents, mpi: Mpi, job: Job, directory: Path) -> None:
        self._agents, self._mpi, self._job = agents, mpi, job
        self._keys = operator.secret(directory / "ssh", job)
        self._config = operator.config_map(directory / "mpi", job)

    def workers(self) -> list[Agent]:
        """Start the workers; each is known by its full name, too."""
        return [
            self._start(name, [], self._job.worker_env(), aliases=(self._job.full(name),))
            for name in self._job.workers
        ]

    def launcher(self, *command: str, options: Sequence[str] = ()) -> Agent:
        """Start the launcher, whose full name nobody knows."""
        env = {
            name: value.replace(HOSTFILE, f"{IN_POD}/hostfile")
            for name, value in self._job.launcher_env().items()
        }
        bind = Bind(source=str(self._config), target=IN_POD, read_only=True)
        words = [*self._mpi.options, *options, "--", *command]
        return self._start(self._job.launcher, words, env, binds=(bind,))

    def _start(self, name: str, words: list[str], env: dict[str, str], **spec: Any) -> Agent:
        keys = Bind(source=str(self._keys), target="/root/.ssh", read_only=True)
        spec["binds"] = (keys, *spec.get("binds", ()))
        whole = {**self._mpi.pod.get("env", {}), **env, "MPIBOOT_SECRET_FILE": None}
        return self._agents.mpiboot(name, words, env=whole, **spec)


def waited_s(launcher: Agent) -> float:
    """Read how long the launcher has waited for its hosts."""
    found = re.search(r"workers? ready after ([\d.]+) s", launcher.log)
    assert found, launcher.log
    return float(found[1])


@pytest.mark.parametrize("form", ["program", "mpirun", "mpirun-hostfile"])
@pytest.mark.parametrize("as_worker", [False, True], ids=["", "law"])
def test_an_mpijob(agents: Agents, mpi: Mpi, tmp_path: Path, form: str, *, as_worker: bool) -> None:
    """Each host has its rank, the launcher too where it is one, on every MPI and in each form.

    The launcher's own name is unknown to everybody and costs no time.
    """
    job = Job(implementation=IMPLEMENTATION.get(mpi.name, "OpenMPI"), as_worker=as_worker)
    pods = Pods(agents, mpi, job, tmp_path)
    for worker in pods.workers():
        worker.until_ready()
    ring = mpi.python_program("ring.py")
    flag = "-f" if mpi.name == "mpich" else "-hostfile" if mpi.hydra else "--hostfile"
    forms = {
        "program": ring,
        "mpirun": ("mpirun", *ring),
        "mpirun-hostfile": ("mpirun", flag, f"{IN_POD}/hostfile", *ring),
    }
    launcher = pods.launcher(*forms[form])

    assert launcher.wait(60) == 0, launcher.log
    names = [*([job.launcher] if as_worker else []), *job.workers]
    said = sorted(launcher.out.decode().splitlines())
    assert [line.split()[0:1] + line.split()[2:] for line in said] == [["OK", one] for one in names]
    assert waited_s(launcher) < 3
    agents.assert_global()


@pytest.mark.parametrize("release", ["v0.3", "v0.4", "v0.5", "trainer"])
def test_names_of_each_release(agents: Agents, tmp_path: Path, release: str) -> None:
    """Every form of name that there was is reached, with the slots that it has."""
    as_worker = release == "trainer"
    job = Job(release=release, slots=2, as_worker=as_worker)
    pods = Pods(agents, OPENMPI4, job, tmp_path)
    for worker in pods.workers():
        worker.until_ready()
    launcher = pods.launcher("hostname")

    assert launcher.wait(60) == 0, launcher.log
    names = [*([job.launcher] if as_worker else []), *job.workers]
    assert sorted(launcher.out.decode().split()) == sorted(names * 2)
    agents.assert_global()


def test_workers_outlast_a_failed_attempt(agents: Agents, tmp_path: Path) -> None:
    """A launcher that failed comes back to the same workers; they leave with its success."""
    pods = Pods(agents, OPENMPI4, Job(), tmp_path)
    workers = pods.workers()
    first = pods.launcher("sh", "-c", "exit 3")
    assert first.wait(60) == 3
    agents.assert_global(stay=workers)

    second = pods.launcher("hostname")
    assert second.wait(60) == 0
    agents.assert_global()
    assert [worker.wait() for worker in workers] == [0, 0]


AGENT = """#!/bin/sh
# As kubexec.sh: the pod's name first, then what a shell there shall run.
set -x
POD=$1
shift
exec ssh -F {config} "$POD" "$*"
"""
SSH = """StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
IdentityFile {key}
"""


@pytest.mark.parametrize("own", [False, True], ids=["program", "mpirun"])
def test_kubexec(agents: Agents, mpi: Mpi, tmp_path: Path, *, own: bool) -> None:
    """An rsh agent is all there is: no keys of ours, no leases, and ranks run where they are named."""
    key = make_key(tmp_path / "key")
    (tmp_path / "ssh_config").write_text(SSH.format(key=key))
    agent = tmp_path / "kubexec.sh"
    agent.write_text(AGENT.format(config=tmp_path / "ssh_config"))
    agent.chmod(0o555)
    hostfile = tmp_path / "hostfile"
    form = "{}:1\n" if mpi.hydra else "{} slots=1\n"
    hostfile.write_text("".join(form.format(f"pi-worker-{n}") for n in (0, 1)))
    variables = {
        "openmpi": {"OMPI_MCA_plm_rsh_agent": agent, "OMPI_MCA_orte_default_hostfile": hostfile},
        "mpich": {"HYDRA_LAUNCHER_EXEC": agent, "HYDRA_HOST_FILE": hostfile},
        "intelmpi": {"I_MPI_HYDRA_BOOTSTRAP_EXEC": agent, "I_MPI_HYDRA_HOST_FILE": hostfile},
    }[mpi.name.rstrip("45")]
    env = {name: str(value) for name, value in variables.items()}
    path = mpi.pod.get("env", {})
    workers = [
        plain_sshd(agents, f"pi-worker-{n}", host_key=key, authorized=[key], directory=tmp_path)
        for n in (0, 1)
    ]
    ring = mpi.python_program("ring.py")
    launcher = agents.mpiboot(
        "pi-launcher",
        [*mpi.options, "--", *(("mpirun", "-n", "2") if own else ()), *ring],
        env={**path, **env, "MPIBOOT_SECRET_FILE": None},
    )

    assert launcher.wait(60) == 0, launcher.log
    assert sorted(launcher.out.decode().splitlines()) == [
        "OK 0/2 pi-worker-0",
        "OK 1/2 pi-worker-1",
    ]
    assert [host["state"] for host in launcher.status["hosts"]] == ["ready (rsh agent)"] * 2
    assert "without leases: nobody but mpirun tells" in launcher.log
    agents.assert_global(stay=workers)


def test_kubexec_waits_for_a_pod(agents: Agents, tmp_path: Path) -> None:
    """A pod in which nothing can be run yet is waited for, and named with what the agent says."""
    agent = tmp_path / "kubexec.sh"
    agent.write_text('#!/bin/sh\necho "pods $1 not found" >&2\nexit 1\n')
    agent.chmod(0o555)
    options = ("--rsh-agent", str(agent), "--wait-timeout", "2")
    launcher = agents.launcher("true", hosts="pi-worker-0:1", options=options)
    assert launcher.wait() == 240
    assert "rsh agent failed (pods pi-worker-0 not found)" in launcher.log
    agents.assert_global()


def test_a_worker_of_kubexec_is_quiet(agents: Agents, tmp_path: Path) -> None:
    """Without sshd and keys it is ready at once, by probe and file, and ends when told to."""
    agent = tmp_path / "kubexec.sh"
    agent.write_text("#!/bin/sh\n")
    agent.chmod(0o555)
    options = ("--rsh-agent", str(agent), "--ready-file", "/run/ready")
    worker = agents.worker("w1", *options, env={"MPIBOOT_SECRET_FILE": None})
    worker.until_stage("ready")
    assert worker.pod.exec([*MPIBOOT, "probe"]).returncode == 0
    assert (worker.pod.root / "run/ready").read_text() == "ready\n"
    told = worker.pod.exec([*MPIBOOT, "run"])
    assert "a worker runs here" in told.stderr
    worker.pod.send(15)
    assert worker.wait(5) == 143
    agents.assert_global()
