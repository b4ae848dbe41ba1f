"""Pods for benchmarks: agents, stock sshd, and the clocks that they are read by."""

from __future__ import annotations

import json
import pwd
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bench.moments import DEADLINE_S, until, until_banner, until_ready
from mpiboot.local.cluster import Bind, Cluster, Pod, PodSpec

AGENT = (sys.executable, "-I", "-m", "mpiboot")
SSHD = "/usr/sbin/sshd"

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
    turns: int = 0

    def pair(self, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
        """Measure both, ours first in every second round: who comes later finds warmer caches."""
        self.turns += 1
        if self.turns % 2:
            return ours(), theirs()
        second = theirs()
        return ours(), second

    def name(self, stem: str) -> str:
        """Make a name that no pod has had."""
        self.taken += 1
        return f"{stem}{self.taken}"

    def agent(
        self,
        name: str,
        *words: str,
        hosts_lines: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        below: tuple[str, ...] = (),
    ) -> Pod:
        """Start an agent, its log in a file of its own; `below` becomes it, and is PID 1 before."""
        with self._log_of(name).open("wb") as log:
            spec = PodSpec(
                name=name,
                argv=(*below, *AGENT, *words),
                env={
                    "MPIBOOT_SECRET_FILE": str(self.secret),
                    "MPIBOOT_LOG_FORMAT": "json",
                    "MPIBOOT_SSHD_LOG_LEVEL": "VERBOSE",  # its lines are milestones
                    **(env or {}),
                },
                binds=self._hidden,
                hosts_lines=hosts_lines,
            )
            return self.cluster.start(spec, stdout=subprocess.DEVNULL, stderr=log)

    def workers(self, count: int, *options: str, env: Mapping[str, str] | None = None) -> list[Pod]:
        """Start workers, and wait until all of them are ready."""
        pods = [self.agent(self.name("w"), "worker", *options, env=env) for _ in range(count)]
        for pod in pods:
            until_ready(pod)
        return pods

    def plain_sshd(self, name: str, *init: str) -> Pod:
        """Start sshd, below an init or alone, with stock settings and a host key that lies ready."""
        spec = PodSpec(
            name=name,
            argv=(*init, SSHD, "-D", "-e", "-f", str(self.sshd_config)),
            tmpfs=("/run/sshd:mode=755",),
            binds=self._hidden,
        )
        return self.cluster.start(spec, stderr=subprocess.DEVNULL)

    def plain_sshds(self, count: int) -> list[Pod]:
        """Start stock sshd in so many pods, and wait until all of them listen."""
        pods = [self.plain_sshd(self.name("p")) for _ in range(count)]
        for pod in pods:
            until_banner(pod)
        return pods

    @property
    def ssh_options(self) -> tuple[str, ...]:
        """What ssh needs to log in to a stock sshd here, as the usual images configure it."""
        return (
            "-i", str(self.key), "-o", "StrictHostKeyChecking=no",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
        )  # fmt: skip

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


def end(pods: Sequence[Pod]) -> None:
    """Kill pods, and wait until they are gone: what still dies costs the next round time."""
    for pod in pods:
        pod.kill()
    for pod in pods:
        pod.wait(DEADLINE_S)


def wall() -> float:
    """Return the wall clock, which agents and programs write down."""
    return time.time()  # noqa: TID251 - compared with other processes' wall clock


def whole(pod: Pod, argv: Sequence[str]) -> float:
    """Run a program in a pod to its end; return the seconds it took."""
    begun = time.monotonic()
    done = pod.exec(argv, timeout_s=DEADLINE_S)
    ended = time.monotonic()
    if done.returncode:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return ended - begun
