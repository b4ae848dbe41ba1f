"""A port of a pod, as a port of this machine's loopback: what `kubectl port-forward` does."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import threading

from mpiboot.local.pod import Pod

_CLONE_NEWNET = 0x40000000  # <linux/sched.h>


class Window:
    """Forward each connection to a port of the pod's own loopback, until it is closed.

    A socket belongs to the network namespace in which it was made: so a thread goes there, and
    makes it.

    Args:
        pod: whose port; it may end at any time.
        port: in the pod; here it is the same, where that is free.

    Raises:
        OSError: nothing can be opened here.
    """

    def __init__(self, pod: Pod, port: int = 9650) -> None:
        self._port = port
        self._space = os.open(f"/proc/{pod.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._server = _listen(port)
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """Where the port is here."""
        return f"http://127.0.0.1:{self._server.getsockname()[1]}/"

    def close(self) -> None:
        """End all connections."""
        for one in (self._server, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        os.close(self._space)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                near = self._server.accept()[0]
                self._open.append(near)
                threading.Thread(target=self._forward, args=(near,), daemon=True).start()

    def _forward(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(self._space, _CLONE_NEWNET):  # of this thread alone
                raise OSError(ctypes.get_errno(), "setns")
            with socket.create_connection(("127.0.0.1", self._port), 5) as far:
                far.settimeout(None)
                self._open.append(far)
                threading.Thread(target=_pump, args=(near, far), daemon=True).start()
                _pump(far, near)


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError:  # another job of this machine has it
        return socket.create_server(("127.0.0.1", 0))


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
