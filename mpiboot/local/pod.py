"""Handle one pod from outside: signal, look in, run programs in it, unplug, wait."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mpiboot.local.hub import Hub, tool_environment
from mpiboot.local.keeper import Keeper, Stream
from mpiboot.local.spec import PodSpec
from mpiboot.model.record import dataclass


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process in a pod: its PID as the pod sees it, its name, its state letter (`Z`: zombie)."""

    pid: int
    comm: str
    state: str


class Pod:
    """A pod; made by `Cluster`.

    Attributes:
        name: its name and hostname.
        address: its IPv4 address.
        popen: the process outside whose exit code is the pod's: PID 1's own, or 128 + n when PID 1
            died of signal n.
    """

    def __init__(
        self,
        spec: PodSpec,
        *,
        keeper: Keeper,
        hub: Hub,
        port: str,
        address: str,
        on_up: Callable[[], None],
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.address = address
        self.popen = keeper.popen
        self._keeper = keeper
        self._hub = hub
        self._port = port
        self._on_up = on_up

    def up(self, timeout_s: float = 30.0) -> Pod:
        """Wait until the program runs as PID 1; needed after `Cluster.spawn` only.

        Raises:
            NotFoundError, CannotRunError: the program cannot be executed.
            LaunchFailedError: the pod could not be made, with the step that failed.
        """
        self._keeper.await_up(timeout_s)
        self._on_up()
        return self

    @property
    def pid(self) -> int:
        """PID 1 of the pod as this machine sees it."""
        return self._keeper.pid

    @property
    def root(self) -> Path:
        """The pod's root directory, to be read from outside while PID 1 lives."""
        return Path(f"/proc/{self.pid}/root")

    def poll(self) -> int | None:
        """Return the exit code, or None while the pod runs."""
        code = self.popen.poll()
        return None if code is None else _shell_code(code)

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the pod's end and return its exit code, 128 + n for signal n.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        return _shell_code(self.popen.wait(timeout_s))

    def send(self, number: int) -> None:
        """Send a signal to PID 1, as a container engine does; after its end nothing happens."""
        if self._keeper.pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._keeper.pidfd, number)

    def kill(self) -> None:
        """Kill PID 1, and with it everything in the pod."""
        self.send(signal.SIGKILL)

    def cut(self) -> None:
        """Unplug the pod from the network: packets vanish, connections stay open."""
        self._hub.ip("link", "set", self._port, "down")

    def join(self) -> None:
        """Plug the pod in again."""
        self._hub.ip("link", "set", self._port, "up")

    def popen_in(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> subprocess.Popen[bytes]:
        """Start a further program in the pod, as `docker exec` does.

        Args:
            argv: the program, looked up in the pod's PATH.
            env: added to the pod's environment.
            stdin: as for Popen; /dev/null by default.
            stdout: as for Popen.
            stderr: as for Popen.
        """
        nsenter = shutil.which("nsenter", path=tool_environment()["PATH"]) or "nsenter"
        enter = [nsenter, f"--target={self.pid}", "--wd"]
        enter += ["--mount", "--uts", "--ipc", "--net", "--pid"]
        if self.spec.user is not None:
            uid, gid = self.spec.user
            enter += [f"--setuid={uid}", f"--setgid={gid}"]
        return subprocess.Popen(
            [*enter, "--", *argv],
            env={**self.spec.environment, **(env or {})},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )

    def exec(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, timeout_s: float = 30.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in the pod to its end and return its code and output.

        Raises:
            subprocess.TimeoutExpired: it ran too long and was killed.
        """
        pipe = subprocess.PIPE
        with self.popen_in(argv, env=env, stdout=pipe, stderr=pipe) as popen:
            try:
                out, err = (
                    text.decode(errors="replace") for text in popen.communicate(None, timeout_s)
                )
            except BaseException:
                os.killpg(popen.pid, signal.SIGKILL)  # nsenter, and the program that it started
                raise
        return subprocess.CompletedProcess(list(argv), popen.returncode, out, err)

    def processes(self) -> list[Process]:
        """List everything in the pod, zombies included; empty after the pod's end."""
        if self._keeper.namespace < 0:
            return []
        ours = os.fstat(self._keeper.namespace)
        found = []
        for entry in Path("/proc").iterdir():
            # A process may end while we look.
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.path.samestat(ours, (entry / "ns/pid").stat()):
                    found.append(_read_process(entry))
        return sorted(found, key=lambda process: process.pid)

    def close(self) -> None:
        """Kill the pod, wait for its end, and let go of everything; idempotent."""
        self._keeper.close()


def _shell_code(code: int) -> int:
    return code if code >= 0 else 128 - code


def _read_process(entry: Path) -> Process:
    text = (entry / "status").read_text(errors="replace")
    fields = dict(line.partition(":\t")[::2] for line in text.splitlines())
    return Process(
        pid=int(fields["NSpid"].split()[-1]), comm=fields["Name"], state=fields["State"][0]
    )
