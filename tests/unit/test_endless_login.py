"""A server that never comes to the point costs the launcher neither a thread nor memory."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from mpiboot.link import client, messages
from mpiboot.link.messages import Message
from mpiboot.plan.gather import Reach
from tests.helpers.eventually import eventually

TERMS = client.Terms(
    identity="/none", host_publics=("ssh-ed25519 AAAA",), known_hosts="",
    hello=Message(kind=messages.HELLO), timeout_s=0.5, lost_s=5,
)  # fmt: skip


# A banner's first line, then a packet that says it is 2 GB long.
HUGE = b"SSH-2.0-OpenSSH_9.2\r\n" + b"\x7f\xff\xff\xfc"
PIECE = b"x" * (1 << 16)


@pytest.fixture(params=[b"x", b"not ssh\r\n", HUGE], ids=["line", "one line", "packet"])
def pouring(request: pytest.FixtureRequest) -> Iterator[tuple[int, list[int]]]:
    """Serve one connection with bytes for as long as they are taken; give the port and the count."""
    sent = [0]

    def pour(listener: socket.socket) -> None:
        with contextlib.suppress(OSError), listener.accept()[0] as sock:
            sock.sendall(request.param)
            while True:
                sent[0] += sock.send(PIECE)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=pour, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1], sent


def test_an_endless_login_is_cut(pouring: tuple[int, list[int]]) -> None:
    """The login fails within its time, its thread ends, and a bounded number of bytes was read."""
    port, sent = pouring
    begun, threads = time.monotonic(), threading.active_count()
    sock = socket.create_connection(("127.0.0.1", port))
    found = client.login(sock, "w1", port, "mpi", TERMS)
    assert found.reach in (Reach.NO_ROUTE, Reach.REFUSED)
    assert time.monotonic() - begun < 10

    def over() -> None:
        assert threading.active_count() < threads + 1

    eventually(over, timeout=10)
    assert sent[0] < 32 << 20  # what the kernel's buffers hold comes on top
