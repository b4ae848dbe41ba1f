"""Pods for benchmarks: agents, stock sshd, and the clocks that they are read by."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from mpiboot.local.cluster import Bind, Cluster, Pod, PodSpec

AGENT = (sys.executable, "-I", "-m", "mpiboot")
SSHD = "/usr/sbin/sshd"
DEADLINE_S = 60.0
# Asking costs the one who is asked, too: a port that refuses may be tried often, an agent may not.
_CLOSED_S, _OPEN_S = 0.001, 0.005

# Debian 12's own sshd_config, and what it takes to log in to a pod.
_STOCK = """\
KbdInteractiveAuthentication no
UsePAM yes
X11Forwarding yes
PrintMotd no
AcceptEnv LANG LC_*
Subsystem sftp /usr/lib/openssh/sftp-server
PermitRootLogin yes
StrictModes no
HostKey {key}
AuthorizedKeysFile {key}.pub
"""


@dataclass
class Bench:
    """A cluster and the files that its pods share with us."""

    cluster: Cluster
    directory: Path
    secret: Path
    key: Path
    sshd_config: Path
    taken: int = 0

    def name(self, stem: str) -> str:
        """Make a name that no pod has had."""
        self.taken += 1
        return f"{stem}{self.taken}"

    def agent(self, name: str, *words: str, hosts_lines: tuple[str, ...] = ()) -> Pod:
        """Start an agent, its log in a file of its own."""
        with self._log_of(name).open("wb") as log:
            spec = PodSpec(
                name=name,
                argv=(*AGENT, *words),
                env={
                    "MPIBOOT_SECRET_FILE": str(self.secret),
                    "MPIBOOT_LOG_FORMAT": "json",
                    "MPIBOOT_SSHD_LOG_LEVEL": "VERBOSE",  # its lines are milestones
                },
                binds=self._hidden,
                hosts_lines=hosts_lines,
            )
            return self.cluster.start(spec, stdout=subprocess.DEVNULL, stderr=log)

    def workers(self, count: int, *options: str) -> list[Pod]:
        """Start workers, and wait until all of them are ready."""
        pods = [self.agent(self.name("w"), "worker", *options) for _ in range(count)]
        for pod in pods:
            until_ready(pod)
        return pods

    def plain_sshd(self, name: str) -> Pod:
        """Start sshd with its stock settings and a host key that lies ready."""
        spec = PodSpec(
            name=name,
            argv=(SSHD, "-D", "-e", "-f", str(self.sshd_config)),
            tmpfs=("/run/sshd:mode=755",),
            binds=self._hidden,
        )
        return self.cluster.start(spec, stderr=subprocess.DEVNULL)

    def bystander(self, name: str) -> Pod:
        """Start a pod that does nothing, to run programs in."""
        spec = PodSpec(
            name=name, argv=("sleep", "infinity"), tmpfs=("/run/mpiboot",), binds=self._hidden
        )
        return self.cluster.start(spec)

    def log(self, pod: Pod) -> str:
        """Return what an agent has said so far."""
        return self._log_of(pod.name).read_text()

    def said_at(self, pod: Pod, words: str) -> float | None:
        """Return the wall-clock time at which an agent first said something; None: not yet."""
        for line in self.log(pod).splitlines():
            if words in line and line.endswith("}"):
                stamp = json.loads(line)["time"].replace("Z", "+00:00")
                return datetime.fromisoformat(stamp).timestamp()
        return None

    def until_said(self, pod: Pod, words: str) -> float:
        """Wait until an agent has said something; return when it did, by the wall clock."""
        until(lambda: self.said_at(pod, words) is not None, words)
        found = self.said_at(pod, words)
        assert found is not None
        return found

    @property
    def _hidden(self) -> tuple[Bind, ...]:
        """Cover the login shell's start file: this machine's may cost any time at each login."""
        path = Path(pwd.getpwuid(0).pw_dir) / ".bashrc"
        if not path.is_file():
            return ()
        empty = self.directory / "bashrc"
        empty.touch()
        return (Bind(source=str(empty), target=str(path), read_only=True),)

    def _log_of(self, name: str) -> Path:
        return self.directory / f"{name}.log"


@contextmanager
def bench(directory: Path) -> Iterator[Bench]:
    """Open a cluster with key material."""
    secret, key = directory / "secret", directory / "key"
    secret.write_text(secrets.token_urlsafe(32))
    secret.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    config = directory / "sshd_config"
    config.write_text(_STOCK.format(key=key))
    with Cluster() as cluster:
        yield Bench(cluster, directory, secret, key, config)


def until_ready(pod: Pod) -> float:
    """Return the moment at which /readyz says yes, asked inside the pod's network."""
    with _network_of(pod):
        return until(lambda: _get("/readyz").startswith(b"HTTP/1.1 200"), f"{pod.name} is ready")


def until_alive(pod: Pod) -> float:
    """Return the moment at which an agent answers on its probe port."""
    with _network_of(pod):
        return until(lambda: _get("/healthz").startswith(b"HTTP/1.1 200"), f"{pod.name} lives")


def until_banner(pod: Pod) -> float:
    """Return the moment at which the pod's port 22 shows the SSH banner."""
    with _network_of(pod):
        return until(lambda: _read(22, b"").startswith(b"SSH-2.0"), f"{pod.name} listens")


def until(check: Callable[[], bool], what: str) -> float:
    """Wait until something is true; return the moment, by the monotonic clock."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        try:
            if check():
                return time.monotonic()
            time.sleep(_OPEN_S)
        except OSError:
            time.sleep(_CLOSED_S)
    raise TimeoutError(f"not within {DEADLINE_S:g} s: {what}")


def metric(pod: Pod, name: str) -> float | None:
    """Return a metric of an agent that has no labels; None: it does not tell in time."""
    try:
        with _network_of(pod):
            text = _get("/metrics", 1 << 20).decode()
    except TimeoutError:
        return None
    found = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(found[0].split()[1]) if found else None


def _get(path: str, most: int = 4096) -> bytes:
    return _read(9650, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode(), most)


def _read(port: int, request: bytes, most: int = 4096) -> bytes:
    """Send a request and return the first `most` bytes of the answer, or all that come at once."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(request)
        answer = connection.recv(4096)
        while len(answer) < most and (chunk := connection.recv(65536) if most > 4096 else b""):
            answer += chunk
        return answer


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
    ended = time.monotonic()
    if done.returncode:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stderr}")
    return ended - begun
