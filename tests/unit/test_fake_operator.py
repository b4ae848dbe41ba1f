"""The fake operator is as the contract says: what is tested with it is worth no more."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.helpers import operator
from tests.helpers.operator import HOSTFILE, Job


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (Job(release="v0.3"), "pi-worker-0.pi-worker\npi-worker-1.pi-worker\n"),
        (Job(release="v0.4", count=1, slots=2), "pi-worker-0.pi-worker.ns.svc slots=2\n"),
        (Job(count=1, slots=4), "pi-worker-0.pi.ns.svc slots=4\n"),
        (Job(count=1, implementation="Intel"), "pi-worker-0.pi.ns.svc:1\n"),
        (Job(count=1, domain="c.local"), "pi-worker-0.pi.ns.svc.c.local slots=1\n"),
        (Job(count=1, as_worker=True, implementation="MPICH"),
         "pi-launcher.pi.ns.svc:1\npi-worker-0.pi.ns.svc:1\n"),
        (Job(release="trainer", count=1, as_worker=True),
         "pi-launcher-0-0.pi slots=1\npi-node-0-0.pi slots=1\n"),
    ],
    ids=str,
)  # fmt: skip
def test_hostfiles(job: Job, text: str) -> None:
    """Each release's names, each implementation's form, the launcher's own line first."""
    assert job.hostfile() == text


def test_environments() -> None:
    """Exactly what is set, and no more."""
    assert Job(slots=2).launcher_env() == {
        "K_MPI_JOB_ROLE": "launcher",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "OMPI_MCA_orte_set_default_slots": "2",
        "NVIDIA_VISIBLE_DEVICES": "",
        "NVIDIA_DRIVER_CAPABILITIES": "",
    }
    assert set(Job(implementation="MPICH", as_worker=True).launcher_env()) == {
        "K_MPI_JOB_ROLE", "HYDRA_HOST_FILE", "HYDRA_LAUNCH_EXTRA_ARGS",
    }  # fmt: skip
    assert Job(implementation="Intel", slots=3).launcher_env()["I_MPI_PERHOST"] == "3"
    trainer = Job(release="trainer")
    assert len(trainer.launcher_env()) == 4
    assert trainer.worker_env() == {}
    assert Job().worker_env() == {"K_MPI_JOB_ROLE": "worker"}


def test_a_config_map_is_links_to_a_dated_directory(tmp_path: Path) -> None:
    """Files are reached through ..data, in a directory that all may write, with the contract's modes."""
    place = operator.config_map(tmp_path / "mpi", Job())
    assert (place / "hostfile").readlink() == Path("..data/hostfile")
    assert (place / "..data").is_symlink()
    assert mode(place) == 0o1777
    assert mode(place / "hostfile") == 0o444
    assert mode(place / "discover_hosts.sh") == 0o555
    assert (place / "hostfile").read_text() == Job().config()[HOSTFILE]


@pytest.mark.parametrize(
    ("mount", "group", "release", "expected"),
    [
        ("/root/.ssh", None, "v0.8", 0o600),
        ("/root/.ssh", 1337, "v0.8", 0o640),
        ("/home/mpiuser/.ssh", None, "v0.8", 0o644),
        ("/home/mpiuser/.ssh", None, "trainer", 0o640),
    ],
)
def test_a_secret(
    tmp_path: Path, mount: str, group: int | None, release: str, expected: int
) -> None:
    """A P-521 key in PEM under the name id_rsa; its mode depends on mount, group and release."""
    place = operator.secret(tmp_path / "ssh", Job(release=release), mount=mount, fs_group=group)
    assert mode(place / "id_rsa") == expected
    assert "BEGIN EC PRIVATE KEY" in (place / "id_rsa").read_text()
    assert (place / "authorized_keys").read_text().startswith("ecdsa-sha2-nistp521 ")
    assert (place / "authorized_keys").read_text() == (place / "id_rsa.pub").read_text()
    if os.geteuid() == 0:
        seen = (place / "id_rsa").stat()
        assert (seen.st_uid, seen.st_gid) == (0, group or 0)


def test_an_update_comes_at_once(tmp_path: Path) -> None:
    """All files of a volume change in one step, under the same names."""
    place = operator.config_map(tmp_path / "mpi", Job())
    before = (place / "..data").readlink()
    operator.update(place, {"hostfile": b"new\n"}, {"hostfile": 0o444})
    assert (place / "hostfile").read_text() == "new\n"
    assert not (place / before).exists()


def test_resolv_conf() -> None:
    """Every pod has the namespace first; only workers have the Service's domain, always cluster.local."""
    job = Job(domain="c.local")
    assert operator.resolv_conf(job, "10.0.0.2") == (
        "nameserver 10.0.0.2\nsearch ns.svc.c.local svc.c.local c.local\noptions ndots:5\n"
    )
    assert "c.local pi.ns.svc.cluster.local\n" in operator.resolv_conf(job, "10.0.0.2", worker=True)
