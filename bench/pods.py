"""Pods for benchmarks: agents, bare sshd, and the clocks that they are read by."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mpiboot.local.cluster import Cluster, Pod, PodSpec

AGENT = (sys.executable, "-I", "-m", "mpiboot")
SSHD = "/usr/sbin/sshd"
DEADLINE_S = 60.0
_POLL_S = 0.001


@dataclass
class Bench:
    """A cluster and the files that its pods share with us."""

    cluster: Cluster
    directory: Path
    secret: Path
    key: Path
    taken: int = 0

    def name(self, stem: str) -> str:
        """Make a name that no pod has had."""
        self.taken += 1
        return f"{stem}{self.taken}"

    def agent(self, name: str, *words: str) -> Pod:
        """Start an agent, its log in a file of its own."""
        with (self.directory / f"{name}.log").open("wb") as log:
            spec = PodSpec(
                name=name,
                argv=(*AGENT, *words),
                env={"MPIBOOT_SECRET_FILE": str(self.secret), "MPIBOOT_LOG_FORMAT": "json"},
            )
            return self.cluster.start(spec, stdout=subprocess.DEVNULL, stderr=log)

    def plain_sshd(self, name: str) -> Pod:
        """Start Debian's sshd with its stock settings and a host key that lies ready."""
        config = self.directory / "sshd_config"
        if not config.exists():
            config.write_text(
                f"HostKey {self.key}\nAuthorizedKeysFile {self.key}.pub\nStrictModes no\nUsePAM yes\n"
                "PermitRootLogin yes\n"
            )
        spec = PodSpec(
            name=name, argv=(SSHD, "-D", "-e", "-f", str(config)), tmpfs=("/run/sshd:mode=755",)
        )
        return self.cluster.start(spec, stderr=subprocess.DEVNULL)

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text()


@contextmanager
def bench(directory: Path) -> Iterator[Bench]:
    """Open a cluster with key material."""
    secret, key = directory / "secret", directory / "key"
    secret.write_text(secrets.token_urlsafe(32))
    secret.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with Cluster() as cluster:
        yield Bench(cluster, directory, secret, key)


def until_ready(pod: Pod) -> float:
    """Return the moment at which /readyz says yes, asked from inside the pod's network."""
    with _network_of(pod):
        return _until(lambda: _get("/readyz").startswith(b"HTTP/1.1 200"), pod)


def until_banner(pod: Pod) -> float:
    """Return the moment at which the pod's port 22 shows the SSH banner."""
    with _network_of(pod):
        return _until(lambda: _read(22, b"").startswith(b"SSH-2.0"), pod)


def _until(check: object, pod: Pod) -> float:
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        try:
            if check():  # type: ignore[operator]
                return time.monotonic()
        except OSError:
            pass
        time.sleep(_POLL_S)
    raise TimeoutError(f"{pod.name} was not ready within {DEADLINE_S} s")


def _get(path: str) -> bytes:
    return _read(9650, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


def _read(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(request)
        return connection.recv(4096)


@contextmanager
def _network_of(pod: Pod) -> Iterator[None]:
    """Be in the network of a pod for a while; only this thread moves."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/proc/{pod.pid}/ns/net", os.O_RDONLY)
    try:
        _enter(there)
        yield
    finally:
        _enter(home)
        os.close(home)
        os.close(there)


def _enter(descriptor: int) -> None:
    import ctypes  # noqa: PLC0415 - os.setns is new in Python 3.12

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, 0x40000000):
        raise OSError(ctypes.get_errno(), "setns")


def whole(pod: Pod, argv: Sequence[str]) -> float:
    """Run a program in a pod to its end; return the seconds it took."""
    begun = time.monotonic()
    done = pod.exec(argv, timeout_s=DEADLINE_S)
    if done.returncode:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stderr}")
    return time.monotonic() - begun
