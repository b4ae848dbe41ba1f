"""Containers as the pods of an MPIJob: the operator's files at its own paths, its variables, its DNS."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.docker.conftest import Box, docker
from tests.docker.test_images import image
from tests.helpers import dns, operator
from tests.helpers.mounting import mounts
from tests.helpers.operator import Job

PROGRAM = Path(dns.__file__)
PASSWD = """\
root:x:0:0:root:/root:/bin/bash
sshd:x:100:65534::/run/sshd:/usr/sbin/nologin
mpiuser:x:1000:1000::/home/mpiuser:/bin/bash
"""
# A `security.capability` attribute (linux/capability.h, revision 2): NET_BIND_SERVICE, effective.
MAY_BIND = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)


@dataclass
class Operated:
    """The pods of one job.

    Attributes:
        box: the network.
        stack: whose image.
        job: as the operator makes it.
        directory: for files that are mounted.
        mount: where the Secret is mounted.
        uid: of the pods; None: root.
        fs_group: of the pods; None: none.
        built: another image than the stack's, made of it; empty: that one.
    """

    box: Box
    stack: str
    job: Job
    directory: Path
    mount: str = "/root/.ssh"
    uid: int | None = None
    fs_group: int | None = None
    built: str = ""
    _zone: dict[str, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.directory.chmod(0o755)
        self._ssh = operator.secret(
            self.directory / "ssh", self.job, mount=self.mount, fs_group=self.fs_group
        )
        self._config = operator.config_map(self.directory / "mpi", self.job)
        self._dns = self.directory / "dns"
        self._dns.mkdir(mode=0o755)
        passwd = self.directory / "passwd"
        passwd.write_text(PASSWD)
        self.box.start(
            "dns", "-u", "/dns.py", "/zone/zone.json", image=self._image,
            options=("--entrypoint", "python3", "-v", f"{PROGRAM}:/dns.py:ro",
                     "-v", f"{self._dns}:/zone:ro"),
        )  # fmt: skip
        self._server = self.address("dns")
        for role in ("launcher", "worker"):
            text = operator.resolv_conf(self.job, self._server, worker=role == "worker")
            (self.directory / f"{role}.resolv.conf").write_text(text)

    @property
    def _image(self) -> str:
        return self.built or image(self.stack, "-test")

    def address(self, name: str) -> str:
        """Return a container's address on the network."""
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        done = docker("inspect", "-f", form, f"{self.box.run}-{name}", check=True)
        return done.stdout.strip()

    def publish(self, name: str, after_s: float = 0.0) -> None:
        """Let cluster DNS know a pod, now or some time from now."""
        at = time.monotonic() + after_s
        self._zone[self.job.record(name)] = {self.address(name): at}
        dns.write(self._dns / "zone.json", self._zone)

    def workers(self, *options: str) -> None:
        """Start the workers; their role is the operator's word."""
        for name in self.job.workers:
            self.start(name, "worker", self.job.worker_env(), *options)

    def launcher(self, *command: str, options: Sequence[str] = ()) -> None:
        """Start the launcher with a command."""
        words = (*options, "--", *command)
        volume = ("-v", f"{self._config}:/etc/mpi:ro")
        self.start(self.job.launcher, "launcher", self.job.launcher_env(), *words, volumes=volume)

    def start(
        self, name: str, role: str, env: dict[str, str], *words: str, volumes: Sequence[str] = ()
    ) -> None:
        """Start one pod; an image's ENTRYPOINT finds out which it is."""
        user = () if self.uid is None else ("--user", f"{self.uid}:{self.fs_group or self.uid}")
        options = [
            *mounts(self.stack), *user, *volumes,
            *("-v", f"{self._ssh}:{self.mount}:ro"),
            *("-v", f"{self.directory}/passwd:/etc/passwd:ro"),
            *("-v", f"{self.directory}/{role}.resolv.conf:/etc/resolv.conf:ro"),
            *(word for pair in env.items() for word in ("-e", "=".join(pair))),
            *("-e", "MPIBOOT_SECRET="),
        ]  # fmt: skip
        self.box.start(
            name, *(words or ("--log-level", "info")), image=self._image, options=options
        )

    def capable_sshd(self) -> Path:
        """Return the image's sshd with a file capability, as the operator's base images give it."""
        place = self.directory / "capable"
        place.mkdir()
        docker("run", "--rm", "-v", f"{place}:/out", "--entrypoint", "cp", self._image,
               "/usr/sbin/sshd", "/out/sshd", check=True)  # fmt: skip
        os.setxattr(place / "sshd", "security.capability", MAY_BIND)
        return place / "sshd"

    def queries(self) -> list[str]:
        """Return all names that were asked for."""
        return [line.split()[1] for line in self.box.logs("dns").splitlines() if " " in line]

    def codes(self, timeout: float = 30) -> list[int]:
        """Return the workers' exit codes."""
        return [self.box.wait(name, timeout) for name in self.job.workers]


# As a kubelet's volumes do.
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="volumes belong to root: run as root")
