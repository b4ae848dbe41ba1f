"""What carries a lease through sshd: bytes both ways, and the last word of whoever closes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpiboot.link import bridge

TIMEOUT_S = 10.0


class Ends:
    """A bridge as sshd runs it, and the agent's end of it."""

    def __init__(self, directory: Path) -> None:
        place = directory / "agent.sock"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(place))
            server.listen()
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", bridge.__file__, str(place)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            server.settimeout(TIMEOUT_S)
            self.agent, _ = server.accept()
        self.agent.settimeout(TIMEOUT_S)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.launcher, self.out = self.process.stdin, self.process.stdout

    def say(self, text: bytes) -> None:
        """Write as a launcher's lease does."""
        self.launcher.write(text)
        self.launcher.flush()

    def close(self) -> None:
        """End what is left."""
        self.process.kill()
        self.process.wait()
        for end in (self.agent, self.launcher, self.out):
            end.close()


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    made = Ends(tmp_path)
    yield made
    made.close()


def test_bytes_go_both_ways(ends: Ends) -> None:
    """And the end with them."""
    sent = os.urandom(50_000)
    ends.say(b"hello")
    assert ends.agent.recv(10) == b"hello"
    ends.agent.sendall(sent)
    ends.agent.close()
    assert ends.out.read() == sent
    assert ends.process.wait(TIMEOUT_S) == 0


def test_the_last_word_of_an_agent_arrives(ends: Ends) -> None:
    """Though the launcher says something in that moment, to which nobody listens any more."""
    ends.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, ends.process.pid, os.WSTOPPED | os.WNOWAIT)
    ends.say(b"a heartbeat")
    ends.agent.sendall(b"a newer launcher has this worker")
    ends.agent.close()
    ends.process.send_signal(signal.SIGCONT)
    assert ends.out.read() == b"a newer launcher has this worker"


def test_a_launcher_that_has_gone_ends_it(ends: Ends) -> None:
    """Its last words reach the agent, which sees the end then."""
    ends.say(b"goodbye")
    ends.launcher.close()
    assert ends.process.wait(TIMEOUT_S) == 0
    assert ends.agent.recv(10) == b"goodbye"
    assert ends.agent.recv(10) == b""
