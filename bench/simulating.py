"""Many workers in a few processes: a real SSH server at many addresses, and the link's messages.

`python -m bench.simulating [--port N] [--late] SECRET-FILE DIRECTORY PROCESSES` serves every address
of its network namespace until it is killed, with the keys that a job of that secret has. It adds a
byte to DIRECTORY/greeted for each launcher that has said hello to a worker; with `--late` it listens
only when it gets SIGUSR1, and writes down the moment in DIRECTORY/listens.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import paramiko
from paramiko import common

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.model.facts import Facts, from_json
from mpiboot.model.record import replace
from mpiboot.plan.evidence import Testimony
from mpiboot.plan.sshconf import SUBSYSTEM
from mpiboot.runtime import keymaking
from mpiboot.runtime.keys import KeyMaterial, Origin

_BACKLOG = 4096
_BEAT_S = 3.0  # as the setting's default
_WAKE_S = 3600.0  # paramiko looks ten times a second whether a connection was closed
_CHUNK = 65536


class Worker:
    """One launcher's lease of one simulated worker.

    Args:
        channel: the subsystem's.
        facts: what the worker says of itself.
        greeted: is told once the launcher has said hello.
    """

    def __init__(
        self, channel: paramiko.Channel, facts: Facts, greeted: Callable[[], None]
    ) -> None:
        self._channel = channel
        self._facts = facts
        self._greeted = greeted
        self._loop = asyncio.get_running_loop()
        self._rest = b""
        self._beat: asyncio.TimerHandle | None = None
        channel.setblocking(False)
        self._loop.add_reader(channel.fileno(), self._readable)

    def _readable(self) -> None:
        try:
            chunk = self._channel.recv(_CHUNK)
        except TimeoutError:
            return
        if not chunk:
            self._close()
            return
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            message = messages.decode(line)
            if message is not None:
                self._take(message)

    def _take(self, message: Message) -> None:
        if message.kind == messages.HELLO:
            self._send(messages.facts_message(self._facts, ticket=1))
            self._greeted()
            self._beat = self._loop.call_later(_BEAT_S, self._beats)
        elif message.kind == messages.CLAIM:
            self._send(Message(kind=messages.CLAIM))
        elif message.kind == messages.WITNESS:
            self._send(messages.testimony_message(Testimony(oom_kills=0, sessions=1)))
        elif message.kind == messages.OVER:
            self._send(Message(kind=messages.BYE))

    def _beats(self) -> None:
        self._send(Message(kind=messages.BEAT, body=messages.stamped({"used": 1 << 28})))
        self._beat = self._loop.call_later(_BEAT_S, self._beats)

    def _send(self, message: Message) -> None:
        try:
            self._channel.sendall(message.encode())
        except OSError:
            self._close()

    def _close(self) -> None:
        if self._beat is not None:
            self._beat.cancel()
        self._loop.remove_reader(self._channel.fileno())
        threading.Thread(target=self._channel.get_transport().close, daemon=True).start()


class Gate(paramiko.ServerInterface):
    """Lets in whoever has the job's key, to the link alone.

    Args:
        accepted: that key's public half, in base64.
        adopt: gets each channel of the link.
    """

    def __init__(self, accepted: str, adopt: Callable[[paramiko.Channel], None]) -> None:
        self._accepted = accepted
        self._adopt = adopt

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002 - all users are alike
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:  # noqa: ARG002
        same = key.get_base64() == self._accepted
        return common.AUTH_SUCCESSFUL if same else common.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:  # noqa: ARG002
        return (
            common.OPEN_SUCCEEDED
            if kind == "session"
            else common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        )

    def check_channel_subsystem_request(self, channel: paramiko.Channel, name: str) -> bool:
        if name != SUBSYSTEM:
            return False
        self._adopt(channel)
        return True


class Server:
    """The workers of one process.

    Args:
        listener: shared by all processes.
        material: the job's keys.
        facts: of a worker; its hostname and address are put in.
        greeted: is called at each hello.
    """

    def __init__(
        self,
        listener: socket.socket,
        material: KeyMaterial,
        facts: Facts,
        greeted: Callable[[], None],
    ) -> None:
        self._listener = listener
        self._host_key = paramiko.PKey.from_path(material.host_keys[0])
        self._accepted = paramiko.PKey.from_path(material.identity).get_base64()
        self._facts = facts
        self._greeted = greeted
        self._loop = asyncio.get_running_loop()

    async def serve(self) -> None:
        """Accept for ever; each connection has a thread, as paramiko wants it."""
        while True:
            sock, _ = await self._loop.sock_accept(self._listener)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport = paramiko.Transport(sock)
            transport.add_server_key(self._host_key)
            transport.start_server(
                event=threading.Event(), server=Gate(self._accepted, self._adopt)
            )

    def _adopt(self, channel: paramiko.Channel) -> None:
        """Take a channel over from its connection's thread."""
        sock = channel.get_transport().sock
        assert isinstance(sock, socket.socket)
        address = str(sock.getsockname()[0])
        sock.settimeout(_WAKE_S)
        name = f"w-{address.replace('.', '-')}"
        facts = replace(self._facts, hostname=name, addresses=(address,))
        self._loop.call_soon_threadsafe(Worker, channel, facts, self._greeted)


def _facts() -> Facts:
    """Describe a worker of a usual size that has this machine's Open MPI."""
    known: Mapping[str, object] = {
        "cpus": 4, "memory_bytes": 16 << 30, "shm_bytes": 1 << 30, "nofile": 1 << 20,
        "memlock_bytes": -1, "path": "/usr/local/bin:/usr/bin:/bin", "cma": True, "rdma": False,
        "python": sys.executable, "mpi": "Open MPI 4.1.4", "mpi_path": "/usr/bin/mpirun",
        "daemon": "/usr/bin/orted",
    }  # fmt: skip
    return from_json(known)


def main() -> int:
    """Serve until killed."""
    made = argparse.ArgumentParser("python -m bench.simulating", description=__doc__)
    made.add_argument("--port", type=int, default=22)
    made.add_argument("--late", action="store_true")
    made.add_argument("secret", type=Path)
    made.add_argument("directory", type=Path)
    made.add_argument("processes", type=int)
    chosen = made.parse_args()
    logging.getLogger("paramiko").addHandler(logging.NullHandler())
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    place = chosen.directory / "keys"
    place.mkdir()
    secret = Origin(secret=chosen.secret.read_text().strip(), what="the benchmark's secret")
    material = keymaking.prepare(secret, place)
    greeted = os.open(chosen.directory / "greeted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    (chosen.directory / "loaded").touch()
    if chosen.late:
        signal.sigwait([signal.SIGUSR1])
    listener = socket.create_server(("0.0.0.0", chosen.port), backlog=_BACKLOG)
    listener.setblocking(False)
    now = time.time()  # noqa: TID251 - compared with other processes' wall clock
    (chosen.directory / "listens").write_text(f"{now:.6f}")
    for _ in range(chosen.processes - 1):
        if os.fork() == 0:
            break

    def note() -> None:
        os.write(greeted, b".")

    asyncio.run(_serve(listener, material, note))
    return 0


async def _serve(
    listener: socket.socket, material: KeyMaterial, greeted: Callable[[], None]
) -> None:
    await Server(listener, material, _facts(), greeted).serve()


if __name__ == "__main__":
    sys.exit(main())
