"""Kubeflow's operators and Trainer: role, hosts and settings, from the environment that each release sets."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot import platforms
from mpiboot.errors import ConfigError, UsageError
from mpiboot.model import options
from mpiboot.model.hosts import Host, Listed
from mpiboot.model.settings import Settings
from mpiboot.platforms import sshfiles
from mpiboot.platforms.protocol import Surroundings
from tests.helpers.operator import IMPLEMENTATIONS, RELEASES, Job

PAIR = "ecdsa-sha2-nistp521 AAAAE2VjZHNh\n"
SECRET = {"/root/.ssh/authorized_keys": PAIR, "/root/.ssh/id_rsa.pub": PAIR}
PORT = {"/etc/ssh/sshd_config": "#Port 22\nPort 2222\n"}


def launcher(job: Job, files: Mapping[str, str] | None = None, **settings: object) -> Surroundings:
    texts = SECRET if files is None else files
    return Surroundings(
        env=job.launcher_env(),
        files={**texts, **job.config()},
        settings=Settings(**settings),  # type: ignore[arg-type]
        hostname=job.launcher,
    )


def worker(job: Job, files: Mapping[str, str] | None = None, **settings: object) -> Surroundings:
    return Surroundings(
        env=job.worker_env(),
        files=SECRET if files is None else files,
        settings=Settings(**settings),  # type: ignore[arg-type]
        hostname=job.workers[0],
    )


JOBS = [
    Job(release=release, implementation=implementation, as_worker=as_worker, domain=domain)
    for release in RELEASES
    for implementation in IMPLEMENTATIONS
    for as_worker in (False, True)
    for domain in ("", "cluster.local")
    if Job.exists(release, implementation, as_worker=as_worker, domain=domain)
]


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_every_release_is_understood(job: Job) -> None:
    """Role, hosts in order with slots, and whether the launcher is one of them, on every form."""
    around = launcher(job)

    assert platforms.identify(around).role == "launcher"
    assert platforms.identify(worker(job)).role == "worker"
    source = platforms.find_source(around)
    assert isinstance(source, Listed)
    names = [name for name, _ in job.hosts()]
    assert [host.name for host in source.hosts] == names
    assert [host.here for host in source.hosts] == [
        name.split(".")[0] == job.launcher for name in names
    ]
    told = platforms.suggest(around)
    slots = [host.slots or int(str(told["slots"].value)) for host in source.hosts]
    assert slots == [job.slots] * len(names)


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_a_failed_attempt_is_not_the_last(job: Job) -> None:
    """Launcher and worker agree: a failure is not final, and workers outlast the longest back-off."""
    for around in (launcher(job), worker(job)):
        told = platforms.suggest(around)
        assert told["failure_is_final"].value is False
        assert float(str(told["retry_grace_s"].value)) > 360
        assert told["key_dir"].value == "/root/.ssh"


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_suggestions_pass_as_settings(job: Job) -> None:
    """What is suggested is what the settings can hold, with an origin that names platform and reason."""
    around = launcher(job, {**SECRET, **PORT})
    resolved = options.resolve({}, {}, None, [])
    told = {name: (one.value, one.why) for name, one in platforms.suggest(around).items()}
    fitted = options.fit(resolved, told)
    assert fitted.settings.ssh_port == 2222
    assert fitted.settings.hostfile == "/etc/mpi/hostfile"
    assert "/etc/ssh/sshd_config says so" in fitted.origins["ssh_port"]
    assert platforms.find_source(
        Surroundings(env=around.env, files=around.files, settings=fitted.settings,
                     hostname=around.hostname)
    ) == platforms.find_source(around)  # fmt: skip


def test_the_operators_role_counts_before_given_hosts() -> None:
    """One set of variables for both roles may name hosts: the worker stays one, by the operator's word."""
    job = Job()
    around = worker(job, hosts="a,b")
    assert platforms.identify(around).role == "worker"
    assert "K_MPI_JOB_ROLE" in platforms.identify(around).why
    assert platforms.identify(worker(job, role="launcher")).role == "launcher"


@pytest.mark.parametrize("release", ["v0.8", "trainer"])
def test_given_hosts_win(release: str) -> None:
    """--hosts or another --hostfile replace the operator's, and no hostfile is suggested beside them."""
    job = Job(release=release)
    around = launcher(job, hosts="a:2")
    assert platforms.find_source(around) == Listed(hosts=(Host(name="a", slots=2),))
    assert "hostfile" not in platforms.suggest(around)
    files = {**SECRET, "/mine": "b:1\n"}
    around = launcher(job, files, hostfile="/mine")
    assert platforms.find_source(around) == Listed(hosts=(Host(name="b", slots=1),))


def test_without_the_role_names_and_files_tell() -> None:
    """An operator that does not say the role is known by the hostfile, or the Secret, and the name."""
    job = Job()
    env = {name: value for name, value in job.launcher_env().items() if name != "K_MPI_JOB_ROLE"}
    base = {"settings": Settings(), "env": env}
    files = {**SECRET, **job.config()}
    found = platforms.identify(Surroundings(files=files, hostname=job.launcher, **base))  # type: ignore[arg-type]
    assert found.role == "launcher"
    base["env"] = {}
    found = platforms.identify(Surroundings(files=SECRET, hostname="pi-worker-3", **base))  # type: ignore[arg-type]
    assert found.role == "worker"
    for files, hostname in (({}, "pi-worker-3"), (SECRET, "web-3"), ({}, "pi-launcher")):
        with pytest.raises(UsageError):
            platforms.identify(Surroundings(files=files, hostname=hostname, **base))  # type: ignore[arg-type]


def test_an_empty_hostfile_is_told_by_its_name() -> None:
    """78 with the file's own path."""
    around = Surroundings(
        env=Job().launcher_env(), files={"/etc/mpi/hostfile": "\n"}, settings=Settings(),
        hostname="pi-launcher",
    )  # fmt: skip
    with pytest.raises(ConfigError, match="/etc/mpi/hostfile names no host"):
        platforms.find_source(around)


def test_the_trainer_on_the_nodes_own_network() -> None:
    """With hostNetwork the hostname is the machine's: the launcher is known by what it is told of."""
    job = Job(release="trainer", as_worker=True)
    around = Surroundings(
        env=job.launcher_env(), files={**SECRET, **job.config()}, settings=Settings(),
        hostname="ip-10-0-0-7",
    )  # fmt: skip
    assert platforms.identify(around).role == "launcher"
    assert "Kubeflow Trainer" in platforms.suggest(around)["retry_grace_s"].why
    source = platforms.find_source(around)
    assert isinstance(source, Listed)
    assert [host.here for host in source.hosts] == [True, False, False]


@pytest.mark.parametrize(
    ("variables", "agent"),
    [
        ({"OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh",
          "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile"}, "/etc/mpi/kubexec.sh"),
        ({"I_MPI_HYDRA_BOOTSTRAP_EXEC": "/etc/mpi/kubexec.sh", "I_MPI_HYDRA_BOOTSTRAP": "rsh",
          "I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile"}, "/etc/mpi/kubexec.sh"),
        ({"HYDRA_LAUNCHER_EXEC": "/etc/mpi/kubexec.sh",
          "HYDRA_HOST_FILE": "/etc/mpi/hostfile"}, "/etc/mpi/kubexec.sh"),
    ],
)  # fmt: skip
def test_kubexec(variables: dict[str, str], agent: str) -> None:
    """v1 operators: the agent in place of ssh, pods by name, no keys and no ssh port looked for."""
    hostfile = "pi-worker-0 slots=2\npi-worker-1 slots=2\n"
    files = {"/etc/mpi/hostfile": hostfile, "/etc/mpi/kubexec.sh": "#!/bin/sh\n"}
    around = Surroundings(env=variables, files=files, settings=Settings(), hostname="pi-launcher")

    assert platforms.identify(around).role == "launcher"
    told = platforms.suggest(around)
    assert told["rsh_agent"].value == agent
    assert told["rsh_agent"].why.startswith("MPI Operator v1: ")
    assert told["hostfile"].value == "/etc/mpi/hostfile"
    assert not {"key_dir", "ssh_port", "failure_is_final"}.intersection(told)
    source = platforms.find_source(around)
    assert source == Listed(
        hosts=(Host(name="pi-worker-0", slots=2), Host(name="pi-worker-1", slots=2))
    )


def test_a_worker_of_kubexec() -> None:
    """It has the agent and no hostfile; nobody logs in to it."""
    around = Surroundings(
        env={}, files={"/etc/mpi/kubexec.sh": "#!/bin/sh\n"}, settings=Settings(),
        hostname="pi-worker-0",
    )  # fmt: skip
    assert platforms.identify(around).role == "worker"
    assert platforms.suggest(around)["rsh_agent"].value == "/etc/mpi/kubexec.sh"


def test_elsewhere_nothing_is_suggested() -> None:
    """A container with a key directory and a port of its own is no pod of an operator."""
    around = Surroundings(
        env={}, files={**SECRET, **PORT}, settings=Settings(hosts="a"), hostname="mine"
    )
    assert platforms.suggest(around) == {}


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("Port 2222\n", 2222),
        ("#Port 22\nPort=2222\nPort 23\n", 2222),
        ("  port \t 2222 \n", 2222),
        ("Host *\n    Port 2222\n", 2222),
        ("Host bastion\n  Port 2222\n", None),
        ("Host bastion\n  Port 2222\nHost *\n  Port 23\n", 23),
        ("Match User a\n  Port 2222\n", None),
        ("Port\nPort 0\n", None),
        ("Port 70000\n", None),
        ("Port ٢٢\n", None),
        ("", None),
    ],
)
def test_ports_of_ssh_files(text: str, port: int | None) -> None:
    """The first Port that holds for everybody; none is better than a wrong one."""
    found = sshfiles.port({"/f": text}, ["/f"])
    assert found == (None if port is None else (port, "/f"))


def test_whose_configuration_tells_the_port() -> None:
    """A user other than root starts sshd with a file of its own, where the image has one."""
    texts = {"/home/mpiuser/.sshd_config": "Port 2223\n", "/etc/ssh/sshd_config": "Port 2222\n"}
    assert sshfiles.port(texts, sshfiles.configs(1000)) == (2223, "/home/mpiuser/.sshd_config")
    assert sshfiles.port(texts, sshfiles.configs(0)) == (2222, "/etc/ssh/sshd_config")


def test_a_home_with_other_keys_is_no_secret_of_the_job() -> None:
    """Only a directory that authorises the key that it holds, and no other one first, is the job's."""
    other = {"/root/.ssh/authorized_keys": "ssh-rsa AAAA me\n", "/root/.ssh/id_rsa.pub": PAIR}
    assert sshfiles.key_dir(other, ["/root/.ssh"]) == ""
    assert sshfiles.key_dir(SECRET, ["/home/mpiuser/.ssh", "/root/.ssh"]) == "/root/.ssh"
    assert sshfiles.homes({"HOME": "/home/mpiuser/"}) == ("/root/.ssh", "/home/mpiuser/.ssh")


@given(text=st.text())
def test_any_text_is_read_without_a_fault(text: str) -> None:
    """Files of an image may hold anything."""
    sshfiles.port({"/f": text}, ["/f"])
    sshfiles.key_dir({"/d/authorized_keys": text, "/d/id_rsa.pub": text}, ["/d"])


@given(text=st.text(max_size=12), name=st.text(max_size=40))
def test_any_environment_is_read_without_a_fault(text: str, name: str) -> None:
    """Whatever a variable holds, a platform says something or nothing."""
    names = ("K_MPI_JOB_ROLE", "OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_set_default_slots",
             "I_MPI_PERHOST", "OMPI_MCA_plm_rsh_agent", "HOME")  # fmt: skip
    around = Surroundings(
        env=dict.fromkeys(names, text), files={text: name}, settings=Settings(), hostname=name
    )
    platforms.suggest(around)
    platforms.wanted_files(around.settings, around.env)
