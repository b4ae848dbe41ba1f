"""Whether mpirun's ssh may share the leases."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mpiboot.model.settings import Settings
from mpiboot.plan import access

MANY = 64.0


@pytest.mark.parametrize(
    ("settings", "environ", "count"),
    [
        (Settings(), {}, 1),
        (Settings(), {}, access.MOST_SHARED),
        (Settings(), {"OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10"}, 4),
        (Settings(), {"OMPI_MCA_plm_rsh_agent": "ssh"}, 4),
        (Settings(mca=("plm_rsh_args=-oLogLevel=DEBUG -o serveraliveinterval=3",)), {}, 4),
        (Settings(mpirun_arg=("--mca", "plm_rsh_args", "-o StrictHostKeyChecking=no")), {}, 4),
    ],
)
def test_shared(settings: Settings, environ: Mapping[str, str], count: int) -> None:
    """By default, and with words that are moot where a connection is open."""
    assert access.unshared(settings, environ, count, MANY) == ""


@pytest.mark.parametrize(
    ("settings", "environ", "count", "why"),
    [
        (Settings(lease_sessions=False), {}, 1, "--no-lease-sessions"),
        (Settings(rsh_agent="/etc/mpi/kubexec.sh"), {}, 1, "another program"),
        (Settings(), {}, access.MOST_SHARED + 1, "more than 256 workers, and 64 CPUs"),
        (Settings(), {"OMPI_MCA_plm_rsh_args": "-o Port=2222"}, 4, "Port=2222"),
        (Settings(), {"PRTE_MCA_plm_ssh_args": "-p 2222"}, 4, "-p 2222"),
        (Settings(), {"OMPI_MCA_plm_rsh_agent": "/usr/bin/rsh"}, 4, "rsh"),
        (Settings(), {"HYDRA_LAUNCHER_EXTRA_ARGS": "-l other"}, 4, "-l other"),
        (Settings(), {"OMPI_MCA_plm_rsh_args": "-o 'unclosed"}, 4, "unclosed"),
        (Settings(mca=("plm_ssh_args=-J jump",)), {}, 4, "-J jump"),
        (Settings(mpirun_arg=("-launcher-exec", "/opt/ssh")), {}, 4, "/opt/ssh"),
        (Settings(mpirun_arg=("--mca", "plm_rsh_agent", "/opt/ssh")), {}, 4, "/opt/ssh"),
    ],
)
def test_not_shared(settings: Settings, environ: Mapping[str, str], count: int, why: str) -> None:
    """Where it is switched off, where there are many, and where the user says how to connect."""
    assert why in access.unshared(settings, environ, count, MANY)


def test_few_cpus_share_however_many_workers_there_are() -> None:
    """As many ssh of their own would only wait for each other there."""
    for cpus in (0.5, float(access.FEW_CPUS)):
        assert access.unshared(Settings(), {}, 10_000, cpus) == ""
