"""Run pods on this machine: namespaces joined by a bridge, gone when we are gone."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from mpiboot.errors import ConfigError
from mpiboot.local.hosts import HostsFiles
from mpiboot.local.hub import Hub, require_means
from mpiboot.local.keeper import Keeper, Stream
from mpiboot.local.order import Order
from mpiboot.local.pod import Pod
from mpiboot.local.spec import Bind, PodSpec
from mpiboot.local.state import ROOT, StateDirectory

__all__ = ["Bind", "Cluster", "Pod", "PodSpec"]

_MOST_PODS = 1000  # a bridge has 1,024 ports


class Cluster:
    """A hub and its pods; a context manager that leaves nothing behind.

    If this process dies, by SIGKILL too, the pods die with it at once; the directory is removed by
    the next cluster of the same root.

    Args:
        root: where the cluster's directory is made.

    Raises:
        ConfigError: on entry, when this process may not make namespaces.
    """

    def __init__(self, *, root: Path = ROOT) -> None:
        self._root = root
        self._stack = ExitStack()
        self._started = 0
        self.pods: dict[str, Pod] = {}

    def __enter__(self) -> Cluster:  # noqa: PYI034 - Self needs Python 3.11
        require_means()
        with ExitStack() as stack:
            state = StateDirectory(self._root)
            stack.callback(state.close)
            self.directory = state.path
            self._hub = Hub()
            stack.callback(self._hub.close)
            hosts = self.directory / "hosts"
            hosts.mkdir()
            self._hosts = HostsFiles(hosts)
            self._resolv = self.directory / "resolv.conf"
            self._resolv.touch(mode=0o644)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill all pods, wait for their end, remove the directory; idempotent."""
        for pod in self.pods.values():
            pod.kill()  # all at once; the stack then waits for each
        self._stack.close()

    def spawn(
        self,
        spec: PodSpec,
        *,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> Pod:
        """Begin to make a pod and do not wait; `Pod.up` must follow.

        Raises:
            ConfigError: a pod of that name runs already.
        """
        former = self.pods.get(spec.name)
        if former is not None and former.poll() is None:
            raise ConfigError(f"pod {spec.name} runs already")
        if self._started == _MOST_PODS:
            raise ConfigError(f"more than {_MOST_PODS} pods in one cluster")
        self._started += 1
        address = f"10.77.{self._started >> 8}.{self._started & 255}"
        port = f"p{self._started}"
        order = self._order(spec, port=port, address=address)
        keeper = Keeper(order, stdin=stdin, stdout=stdout, stderr=stderr)
        self._stack.callback(keeper.close)
        # As elsewhere a name is published once its address answers. Who asked for it earlier would
        # wait a second: the kernel asks a network for a neighbour no oftener.
        publish = functools.partial(self._hosts.show, spec.name, listed=spec.listed)
        pod = Pod(
            spec, keeper=keeper, hub=self._hub, port=port, address=address, on_up=publish
        )  # fmt: skip
        self.pods[spec.name] = pod
        return pod

    def _order(self, spec: PodSpec, *, port: str, address: str) -> Order:
        """Write down everything that the keeper has to do."""
        hosts = self._hosts.add(
            spec.name, address, aliases=spec.aliases, extra=spec.hosts_lines, listed=False
        )
        binds = [Bind(source=str(hosts), target="/etc/hosts")]
        if Path("/etc/resolv.conf").is_file():  # where there is none, no server is asked either
            binds.append(Bind(source=str(self._resolv), target="/etc/resolv.conf"))
        uid, gid = spec.user or (-1, -1)
        return Order(
            owner=os.getpid(),
            hub_fd=self._hub.fd,
            port=port,
            address=address,
            netmask="255.255.0.0",
            name=spec.name,
            argv=list(spec.argv),
            env=spec.environment,
            cwd=spec.cwd or str(Path.cwd()),
            tmpfs=[
                (target, options) for target, _, options in (t.partition(":") for t in spec.tmpfs)
            ],
            binds=[(bind.source, bind.target, bind.read_only) for bind in (*binds, *spec.binds)],
            uid=uid,
            gid=gid,
            blocked=[int(number) for number in spec.blocked],
        )

    def start(
        self,
        spec: PodSpec,
        *,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> Pod:
        """Start a pod, at any time; return when its program runs as PID 1.

        Raises:
            ConfigError: a pod of that name runs already.
            NotFoundError, CannotRunError: the program cannot be executed.
            LaunchFailedError: the pod could not be made.
        """
        return self.spawn(spec, stdin=stdin, stdout=stdout, stderr=stderr).up()

    def start_all(
        self, specs: Iterable[PodSpec], *, stdout: Stream = None, stderr: Stream = None
    ) -> list[Pod]:
        """Start many pods at the same time; otherwise as `start`."""
        pods = [self.spawn(spec, stdout=stdout, stderr=stderr) for spec in specs]
        return [pod.up() for pod in pods]

    def list_pod(self, name: str) -> None:
        """Publish a pod's name in the /etc/hosts of all pods."""
        self._hosts.show(name, listed=True)

    def unlist_pod(self, name: str) -> None:
        """Withdraw a pod's name from the /etc/hosts of all other pods."""
        self._hosts.show(name, listed=False)
