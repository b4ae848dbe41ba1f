"""A fake MPI Operator: what each release puts into pods, without a cluster.

Files and modes are those of the contract: ConfigMap and Secret volumes with a `..data` link, as a
kubelet lays them out. Environments are exact: nothing that the operator does not set is in them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.keyfiles import make_key

RELEASES = ("v0.3", "v0.4", "v0.5", "v0.8", "trainer")
IMPLEMENTATIONS = ("OpenMPI", "Intel", "MPICH")
HOSTFILE = "/etc/mpi/hostfile"
_SSH = "-o ConnectionAttempts=10"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One MPIJob, or a TrainJob, as its release makes it.

    Attributes:
        release: one of RELEASES; v0.5 stands for v0.5 and v0.6, v0.8 for v0.7 and v0.8.
        implementation: one of IMPLEMENTATIONS.
        name: of the job.
        namespace: that it is in.
        count: of workers.
        slots: of each worker.
        as_worker: whether the launcher is one of them, too.
        domain: of the cluster, where the operator was told one.
    """

    release: str = "v0.8"
    implementation: str = "OpenMPI"
    name: str = "pi"
    namespace: str = "ns"
    count: int = 2
    slots: int = 1
    as_worker: bool = False
    domain: str = ""

    def __str__(self) -> str:
        words = (self.release, self.implementation, "law" if self.as_worker else "", self.domain)
        return "-".join(word for word in words if word)

    @staticmethod
    def exists(release: str, implementation: str, *, as_worker: bool, domain: str) -> bool:
        """Tell whether a release knows an implementation, launchers as workers, and a domain."""
        if release == "trainer":
            return implementation == "OpenMPI" and not domain
        early = release in ("v0.3", "v0.4")
        if early and (implementation == "MPICH" or as_worker):
            return False
        return not domain or release == "v0.8"

    @property
    def launcher(self) -> str:
        """The launcher's hostname."""
        return f"{self.name}-launcher" + ("-0-0" if self.release == "trainer" else "")

    @property
    def workers(self) -> list[str]:
        """The workers' hostnames."""
        stem = "node-0" if self.release == "trainer" else "worker"
        return [f"{self.name}-{stem}-{number}" for number in range(self.count)]

    def full(self, hostname: str) -> str:
        """Return a pod's name as the hostfile has it."""
        match self.release:
            case "v0.3":
                return f"{hostname}.{self.name}-worker"
            case "v0.4":
                return f"{hostname}.{self.name}-worker.{self.namespace}.svc"
            case "trainer":
                return f"{hostname}.{self.name}"
            case _:
                tail = f".{self.domain}" if self.domain else ""
                return f"{hostname}.{self.service}{tail}"

    @property
    def service(self) -> str:
        """The headless Service, without a domain."""
        subdomain = f"{self.name}-worker" if self.release in ("v0.3", "v0.4") else self.name
        return f"{subdomain}.{self.namespace}.svc"

    def record(self, hostname: str) -> str:
        """Return the name under which cluster DNS publishes a pod."""
        return f"{hostname}.{self.service}.{self.domain or 'cluster.local'}"

    @property
    def search(self) -> tuple[str, ...]:
        """The search list of every pod, as a kubelet writes it; workers have one domain before it."""
        domain = self.domain or "cluster.local"
        return (f"{self.namespace}.svc.{domain}", f"svc.{domain}", domain)

    def hosts(self) -> list[tuple[str, int | None]]:
        """Return names and slots as the hostfile has them."""
        names = [*([self.launcher] if self.as_worker else []), *self.workers]
        slots = None if self.release == "v0.3" else self.slots
        return [(self.full(name), slots) for name in names]

    def hostfile(self) -> str:
        """Render the hostfile in the form of the implementation."""
        form = "{} slots={}\n" if self.implementation == "OpenMPI" else "{}:{}\n"
        return "".join(
            f"{name}\n" if slots is None else form.format(name, slots)
            for name, slots in self.hosts()
        )

    def discovery(self) -> str:
        """Render discover_hosts.sh: a line for each host, without slots."""
        return "#!/bin/sh\n" + "".join(f"echo {name}\n" for name, _ in self.hosts())

    def config(self) -> dict[str, str]:
        """Return the texts of the ConfigMap's files by the launcher's paths."""
        return {HOSTFILE: self.hostfile(), "/etc/mpi/discover_hosts.sh": self.discovery()}

    def launcher_env(self) -> dict[str, str]:
        """Return what is set in the launcher, and nothing else."""
        env = {**_ADDRESSED[self.implementation]}
        for name in ("OMPI_MCA_orte_set_default_slots", "I_MPI_PERHOST"):
            if name in env:
                env[name] = str(self.slots)
        if self.release == "trainer":
            return env
        env["K_MPI_JOB_ROLE"] = "launcher"
        if not self.as_worker:
            env |= {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
        return env

    def worker_env(self) -> dict[str, str]:
        """Return what is set in a worker, and nothing else."""
        return {} if self.release == "trainer" else {"K_MPI_JOB_ROLE": "worker"}


_ADDRESSED: Mapping[str, Mapping[str, str]] = {
    "OpenMPI": {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": HOSTFILE,
        "OMPI_MCA_plm_rsh_args": _SSH,
        "OMPI_MCA_orte_set_default_slots": "",
    },
    "Intel": {
        "I_MPI_HYDRA_HOST_FILE": HOSTFILE,
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": _SSH,
        "I_MPI_PERHOST": "",
    },
    "MPICH": {"HYDRA_HOST_FILE": HOSTFILE, "HYDRA_LAUNCH_EXTRA_ARGS": _SSH},
}


def config_map(place: Path, job: Job) -> Path:
    """Lay out the ConfigMap's volume: hostfile 0444, discover_hosts.sh 0555."""
    texts = {Path(path).name: text.encode() for path, text in job.config().items()}
    return volume(place, texts, {"hostfile": 0o444, "discover_hosts.sh": 0o555})


def secret(
    place: Path, job: Job, *, mount: str = "/root/.ssh", fs_group: int | None = None
) -> Path:
    """Lay out the Secret's volume with one P-521 pair, PEM under the name id_rsa.

    Args:
        place: an empty or missing directory.
        job: whose.
        mount: where it will be mounted: its modes depend on it.
        fs_group: of the pod; a kubelet gives the files to it and lets it read.
    """
    scratch = place.with_name(f"{place.name}-key")
    key = make_key(scratch, "id_rsa", kind="ecdsa-521-pem")
    private, public = key.read_bytes(), Path(f"{key}.pub").read_bytes()
    shutil.rmtree(scratch)
    texts = {"id_rsa": private, "id_rsa.pub": public, "authorized_keys": public}
    modes = dict.fromkeys(texts, 0o600 if mount == "/root/.ssh" else 0o644)
    if job.release == "trainer":
        modes = {"id_rsa": 0o640, "id_rsa.pub": 0o644, "authorized_keys": 0o644}
    if fs_group is not None:
        modes = {name: mode | 0o040 | (mode & 0o004) for name, mode in modes.items()}
    return volume(place, texts, modes, group=fs_group or 0)


def volume(
    place: Path, texts: Mapping[str, bytes], modes: Mapping[str, int], *, group: int = 0
) -> Path:
    """Lay out a volume as a kubelet does: links to ..data, which is a link to a dated directory.

    Owners are set where this user may do so: they are root's in a cluster.
    """
    place.mkdir(parents=True, exist_ok=True)
    dated = place / "..2026_01_02_03_04_05.6789"
    dated.mkdir()
    for name, data in texts.items():
        path = dated / name
        path.write_bytes(data)
        path.chmod(modes[name])
        (place / name).symlink_to(f"..data/{name}")
    (place / "..data").symlink_to(dated.name)
    if os.geteuid() == 0:
        for path in (place, dated, *(dated / name for name in texts)):
            os.chown(path, 0, group)
    dated.chmod(0o755)
    place.chmod(0o1777)
    return place


def update(place: Path, texts: Mapping[str, bytes], modes: Mapping[str, int]) -> None:
    """Replace a volume's files at once, as a kubelet does some time after the object has changed."""
    old = (place / "..data").readlink()
    dated = place / f"{old}x"
    dated.mkdir()
    for name, data in texts.items():
        (dated / name).write_bytes(data)
        (dated / name).chmod(modes[name])
    temporary = place / "..data_tmp"
    temporary.symlink_to(dated.name)
    temporary.rename(place / "..data")
    shutil.rmtree(place / old)


def resolv_conf(job: Job, nameserver: str, *, worker: bool = False) -> str:
    """Render /etc/resolv.conf of a pod; only workers have the Service's own domain in it."""
    own = (f"{job.service}.cluster.local",) if worker and job.release != "trainer" else ()
    search = " ".join((*job.search, *own))
    return f"nameserver {nameserver}\nsearch {search}\noptions ndots:5\n"
