"""Start a pod's keeper (the script `enter`), give it its order, and read its report."""

from __future__ import annotations

import contextlib
import marshal
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, cast

from mpiboot.errors import CannotRunError, ExitCode, LaunchFailedError, MpibootError, NotFoundError
from mpiboot.local.hub import tool_environment
from mpiboot.local.order import Order

Stream = int | IO[Any] | None
_SCRIPT = str(Path(__file__).with_name("enter.py"))
_FAILURES: dict[int, type[MpibootError]] = {
    ExitCode.NOT_FOUND: NotFoundError,
    ExitCode.NOT_EXECUTABLE: CannotRunError,
}


class Keeper:
    """The process outside a pod that made it and waits for its end.

    Attributes:
        popen: its exit code is the pod's: PID 1's own, or 128 + n when PID 1 died of signal n.
        pid: PID 1 as this machine sees it; -1 before `await_up`.
        pidfd: refers to PID 1, also when its number is used again.
        namespace: the pod's PID namespace, held so that its identity is not used again.
    """

    def __init__(self, order: Order, *, stdin: Stream, stdout: Stream, stderr: Stream) -> None:
        self.pid = self.pidfd = self.namespace = -1
        self._name = order["name"]
        order_read, self._order = os.pipe()
        self._report, report_write = os.pipe()
        # No `site` in the keeper: it needs none, and its start-up time is paid once per pod.
        argv = [sys.executable, "-I", "-S", _SCRIPT, str(order_read), str(report_write)]
        try:
            self.popen = subprocess.Popen(
                argv,
                env=tool_environment(),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(order_read, report_write, order["hub_fd"]),
                start_new_session=True,  # a terminal's ^C is for us alone
            )
        finally:
            os.close(order_read)
            os.close(report_write)
        with contextlib.suppress(BrokenPipeError), open(self._order, "wb", closefd=False) as pipe:
            marshal.dump(cast("Any", order), pipe)

    def await_up(self, timeout_s: float) -> None:
        """Wait until the program runs as PID 1.

        Raises:
            NotFoundError, CannotRunError: the program cannot be executed.
            LaunchFailedError: the pod could not be made, with the step that failed.
        """
        try:
            self.pid = _parse(self._name, _read_to_end(self._report, timeout_s))
            # The keeper does not reap before we close the order, so this is PID 1 and no other.
            self.pidfd = os.pidfd_open(self.pid)
            self.namespace = os.open(f"/proc/{self.pid}/ns/pid", os.O_RDONLY)
        except BaseException:
            self.close()
            raise
        self._close_pipes()

    def close(self) -> None:
        """Kill the pod, wait for its end, and let go of everything; idempotent."""
        self._close_pipes()
        with contextlib.suppress(ProcessLookupError):
            if self.pidfd >= 0:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            else:
                self.popen.kill()
        try:
            self.popen.wait(10)
        except subprocess.TimeoutExpired:  # a process in uninterruptible sleep cannot be waited for
            self.popen.kill()
            self.popen.wait()
        for fd in {self.pidfd, self.namespace} - {-1}:
            os.close(fd)
        self.pidfd = self.namespace = -1

    def _close_pipes(self) -> None:
        for fd in {self._report, self._order} - {-1}:
            os.close(fd)
        self._report = self._order = -1


def _parse(name: str, report: str) -> int:
    """Return the PID that a report tells, or raise what it complains of."""
    failed = re.search(r"^failed (\d+) (.*)", report, re.MULTILINE | re.DOTALL)
    pid = re.search(r"^pid (\d+)$", report, re.MULTILINE)
    if pid and not failed:
        return int(pid[1])
    kind = _FAILURES.get(int(failed[1]) if failed else 0, LaunchFailedError)
    why = failed[2].strip() if failed else "its keeper died"
    said = report[: failed.start()].strip() if failed and not pid else ""  # by `ip`
    raise kind(f"pod {name}: {why}{f' ({said})' if said else ''}")


def _read_to_end(fd: int, timeout_s: float) -> str:
    """Read a pipe to its end of file.

    Raises:
        LaunchFailedError: the other side still holds it open after `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    text = b""
    with selectors.DefaultSelector() as watch:
        watch.register(fd, selectors.EVENT_READ)
        while watch.select(max(0.0, deadline - time.monotonic())):
            chunk = os.read(fd, 65536)
            if not chunk:
                return text.decode(errors="replace")
            text += chunk
    raise LaunchFailedError(f"a pod was not made within {timeout_s:g} s: {text.decode()!r}")
