"""When something became true in a pod: readiness, banners, metrics, asked inside its network."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mpiboot.local.cluster import Pod

DEADLINE_S = 60.0
# Asking costs the one who is asked, too: a port that refuses may be tried often, an agent may not.
_CLOSED_S, _OPEN_S = 0.001, 0.005


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
