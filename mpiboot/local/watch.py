"""Wait for what comes next in `mpiboot local`: a signal, output of a worker, the end of a pod."""

from __future__ import annotations

import os
import selectors
import signal
import socket
from types import TracebackType

from mpiboot.local.pod import Pod

_STDERR = 2
_LONGEST_LINE = 65536


class Watch:
    """One selector over everything; copies workers' output to stderr as it comes.

    A worker's line is written whole and with the pod's name in front, so it never cuts another
    worker's line; the launcher's streams do not pass through here at all.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        self._lines: dict[int, tuple[str, bytearray]] = {}
        self._pidfds: list[int] = []

    def __enter__(self) -> Watch:  # noqa: PYI034 - Self needs Python 3.11
        self._wake.setblocking(False)
        self._waker.setblocking(False)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._former = signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(self._former)
        self._selector.close()
        self._wake.close()
        self._waker.close()
        for fd in (*self._pidfds, *self._lines):
            os.close(fd)

    def output(self, name: str, fd: int) -> None:
        """Copy what comes out of a pipe, and own the pipe."""
        os.set_blocking(fd, False)
        self._lines[fd] = name, bytearray()
        self._selector.register(fd, selectors.EVENT_READ)

    def end(self, pod: Pod) -> None:
        """Wake up when the pod ends; it must not have been waited for yet."""
        pidfd = os.pidfd_open(pod.popen.pid)
        self._pidfds.append(pidfd)
        self._selector.register(pidfd, selectors.EVENT_READ)

    def wait(self, timeout_s: float | None = None) -> None:
        """Return after the next event, or when the time is over."""
        for key, _ in self._selector.select(timeout_s):
            if key.fd in self._lines:
                self._copy(key.fd)
            elif key.fd in self._pidfds:
                self._selector.unregister(key.fd)  # it has told all it will
            else:
                self._wake.recv(4096)

    def drain(self) -> None:
        """Copy what is still in the pipes; call when all pods have ended."""
        for fd in list(self._lines):
            while fd in self._lines and self._copy(fd):
                pass

    def _copy(self, fd: int) -> bool:
        """Copy one piece; tell whether there may be more."""
        name, pending = self._lines[fd]
        try:
            chunk = os.read(fd, 65536)
        except BlockingIOError:
            return False
        pending += chunk
        keep = len(pending) - pending.rfind(b"\n") - 1
        if not chunk or keep > _LONGEST_LINE:
            pending += b"\n" if keep else b""
            keep = 0
        whole = bytes(pending[: len(pending) - keep])
        del pending[: len(whole)]
        prefix = f"{name} | ".encode()
        _write(b"".join(prefix + line + b"\n" for line in whole.split(b"\n")[:-1]))
        if not chunk:
            self._selector.unregister(fd)
            os.close(fd)
            del self._lines[fd]
        return bool(chunk)


def _write(data: bytes) -> None:
    """Write all of it; a stderr that nobody reads any more must not end the job."""
    try:
        while data:
            data = data[os.write(_STDERR, data) :]
    except BrokenPipeError:
        pass
