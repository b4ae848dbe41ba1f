"""Start children and learn how they ended: the only place that spawns and the only one that reaps.

The reaper peeks first (`WNOWAIT`) and leaves a child of ours to its own record, so that a status
is never taken from the one who needs it; strangers re-parented to us are reaped and counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

from mpiboot.errors import CannotRunError, LaunchFailedError, NotFoundError
from mpiboot.model.record import dataclass
from mpiboot.runtime import cores
from mpiboot.runtime.exchange import exchange

Stream = int | IO[bytes] | None
DEVNULL = subprocess.DEVNULL
PIPE = subprocess.PIPE


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A finished helper: exit code (128 + n for a signal) and its output, undecoded."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Both streams as text, for a message to a person."""
        return (self.stdout + self.stderr).decode(errors="replace").strip()


class Child:
    """A process of ours; `ended` resolves to its exit code, 128 + n for a signal."""

    def __init__(self, name: str, popen: subprocess.Popen[bytes]) -> None:
        self.name = name
        self.pid = popen.pid
        self.popen = popen
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def running(self) -> bool:
        """Tell whether it has not been reaped yet."""
        return not self.ended.done()

    def signal(self, number: int) -> None:
        """Send a signal to the process itself, not to its group."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def signal_group(self, number: int) -> None:
        """Send a signal to the process group that the child leads."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


@contextlib.contextmanager
def _told(program: str) -> Iterator[None]:
    """Tell in our own words why a program did not start."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as fault:
        raise NotFoundError(
            f"cannot start {program}: {fault.filename or program} does not exist",
            hint="check the path, or PATH in this container",
        ) from fault
    except BlockingIOError as fault:  # of fork(2): EAGAIN
        raise LaunchFailedError(
            f"cannot start {program}: this container may have no more processes",
            hint="raise its limit (docker: --pids-limit; Kubernetes: podPidsLimit of the kubelet)",
        ) from fault
    except OSError as fault:
        raise CannotRunError(f"cannot start {program}: {fault.strerror}") from fault


class Children:
    """The table of our children; one per agent, used from the loop's thread only.

    Args:
        core_choice: what `cores.withhold` returned where our memory is kept out of core files.
    """

    def __init__(self, core_choice: str = "") -> None:
        self._core_choice = core_choice
        self._table: dict[int, Child] = {}
        self._begun: dict[tuple[str, ...], Child] = {}
        self.orphans_reaped = 0

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: Stream = DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
        pass_fds: Sequence[int] = (),
        ignore_sigpipe: bool = False,
    ) -> Child:
        """Start a program in a session of its own.

        Args:
            argv: the program and its arguments.
            name: what the child is called in messages; else argv's first word.
            env: its environment; None: ours.
            cwd: its working directory; None: ours.
            stdin: as for Popen, like the two that follow.
            stdout: as above.
            stderr: as above.
            pass_fds: descriptors that it inherits.
            ignore_sigpipe: whether SIGPIPE is ignored in it, as it is in ours.

        Raises:
            NotFoundError: there is no such program (127).
            CannotRunError: it exists but cannot be executed (126).
            LaunchFailedError: no process can be made here.
        """
        with _told(argv[0]):
            popen = subprocess.Popen(
                list(argv),
                env=dict(env) if env is not None else None,
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=tuple(pass_fds),
                start_new_session=True,
                restore_signals=not ignore_sigpipe,
            )
        cores.grant(popen.pid, self._core_choice)
        child = Child(name or argv[0], popen)
        self._table[child.pid] = child
        return child

    def adopt(self, argv: Sequence[str], popen: subprocess.Popen[bytes]) -> None:
        """Take over a helper that waits for its stdin; the next `run` of these words asks it.

        Args:
            argv: what it was started with.
            popen: it, with pipes for all three streams, in a session of its own.
        """
        child = Child(argv[0], popen)
        self._table[child.pid] = self._begun[tuple(argv)] = child

    def reap(self) -> None:
        """Collect everything that has died; call on SIGCHLD."""
        while True:
            try:
                seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if seen is None:
                return
            child = self._table.pop(seen.si_pid, None)
            if child is None:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(seen.si_pid, os.WNOHANG)
                self.orphans_reaped += 1
                continue
            code = child.popen.wait()
            if not child.ended.done():
                child.ended.set_result(code if code >= 0 else 128 - code)

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Completed:
        """Run a short helper to its end and capture what it says.

        A helper that outlives `timeout_s` is killed and reported with code 137.
        """
        child = self._begun.pop(tuple(argv), None) if env is None else None
        if child is None or not child.running:
            child = self.spawn(argv, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(timeout_s, child.signal_group, signal.SIGKILL)
        try:
            stdout, stderr = await exchange(child.popen, stdin)
            code = await child.ended
        finally:
            timer.cancel()
        return Completed(code=code, stdout=stdout, stderr=stderr)

    @property
    def running(self) -> list[Child]:
        """Our children that have not ended."""
        return list(self._table.values())
