"""An operator's variables neither mislead mpirun nor reach ranks; the user's own stay."""

from __future__ import annotations

import pytest

from mpiboot.plan import ownjob, takeover
from tests.helpers.operator import IMPLEMENTATIONS, Job
from tests.unit.test_ownargs import VERSIONS, job

OWN = "/run/mpiboot/launcher/hostfile"


def taken(environ: dict[str, str], given: str = "/etc/mpi/hostfile") -> dict[str, str]:
    return dict(takeover.take(environ, given=given, own=OWN).environ)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_what_every_release_sets_is_taken_over(implementation: str) -> None:
    """Of the operator's variables the hostfile's name is left, and leads to ours."""
    job = Job(implementation=implementation)
    env = job.launcher_env()
    left = taken({**env, "NCCL_DEBUG": "INFO"})
    assert left.pop("NCCL_DEBUG") == "INFO"
    assert left.pop("K_MPI_JOB_ROLE") == "launcher"
    assert set(left.values()) == {OWN}
    notes = takeover.take(env, given="/etc/mpi/hostfile", own=OWN).notes
    assert len(notes) == len(env) - 1  # all but the role


def test_values_of_the_users_stay() -> None:
    """What is not the operator's value is somebody's wish."""
    env = {
        "OMPI_MCA_orte_default_hostfile": "/mine",
        "OMPI_MCA_plm_rsh_args": "-o LogLevel=DEBUG",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "NVIDIA_VISIBLE_DEVICES": "",
    }
    assert taken(env) == env
    env["OMPI_MCA_orte_default_hostfile"] = "/etc/mpi/hostfile"
    env["OMPI_MCA_orte_keep_fqdn_hostnames"] = "false"
    assert taken(env) == {
        "OMPI_MCA_orte_default_hostfile": OWN,
        "OMPI_MCA_plm_rsh_args": "-o LogLevel=DEBUG",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "false",
    }


def test_devices_that_are_not_hidden_are_no_business_of_ours() -> None:
    """Only the empty value is the operator's."""
    env = {"HYDRA_HOST_FILE": "/etc/mpi/hostfile", "NVIDIA_VISIBLE_DEVICES": "all"}
    assert taken(env)["NVIDIA_VISIBLE_DEVICES"] == "all"


@pytest.mark.parametrize("dialect", VERSIONS)
def test_a_commands_own_mpirun_finds_our_hostfile(dialect: str) -> None:
    """What the operator set for it, and what it reads, is one file, with nothing beside it."""
    implementation = {"MPICH": "MPICH", "Intel MPI": "Intel"}.get(dialect, "OpenMPI")
    env = taken(Job(implementation=implementation).launcher_env())
    ours = job(dialect, hostfile=OWN, dotted_names=True)
    whole = {**env, **ownjob.environment(ours, env).variables}
    hostfiles = {
        value for name, value in whole.items() if name.lower().endswith(("hostfile", "host_file"))
    }
    assert hostfiles == {OWN}
    assert not any("ConnectionAttempts" in value for value in whole.values())
    if dialect.startswith("Open MPI"):
        prefix = "OMPI_MCA_orte" if dialect == "Open MPI 4" else "PRTE_MCA_prte"
        assert whole[f"{prefix}_keep_fqdn_hostnames"] == "1"


def test_hosts_from_elsewhere() -> None:
    """With --hosts the operator's hostfile is not what mpirun is to see, either."""
    assert taken({"HYDRA_HOST_FILE": "/etc/mpi/hostfile"}, given="") == {"HYDRA_HOST_FILE": OWN}
