"""Stand at a worker's name on port 22 without being one.

Usage: false_worker.py banner | lines | silent | stranger | thief FLOOD

banner: a banner without an end. lines: lines without an end. silent: never a word.
stranger and thief: an SSH server with the host key of the job whose secret is in STOLEN, which lets
everybody in and says of every command that it ended well; the thief has the right secret, gives facts
and forges messages of the link, and with FLOOD it pours out bytes after its facts.
What a thief is asked to run is written to /tmp/asked, and never run.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import paramiko
from paramiko.common import AUTH_SUCCESSFUL, OPEN_SUCCEEDED

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.model.facts import Facts
from mpiboot.model.record import replace
from mpiboot.plan import agreement
from mpiboot.runtime import inspect, keymaking
from mpiboot.runtime.keys import Origin

LAST_S = 90.0
FORGED = (
    Message(kind=messages.OVER, body={"code": 0, "final": True}),
    Message(kind=messages.RANK, body={"event": "ended", "rank": 0, "code": 0}),
    Message(kind=messages.RANK, body={"event": "ended", "rank": 1, "code": 0}),
    Message(kind=messages.PHASE, body={"phase": "succeeded"}),
    Message(kind=messages.CONTROL, body={"command": "run", "argv": ["touch", "/tmp/canary"]}),
    Message(kind=messages.CALL, body={"address": "127.0.0.1", "port": 22, "argv": ["touch", "/tmp/canary"]}),
    Message(kind=messages.NOTICE, body={"event": "\x1b]0;x\x07" * 50, "text": "$(touch /tmp/canary)"}),
    Message(kind=messages.WITNESS, body={"ranks": [[]] * 500, "daemons": {"a": "b"}}),
)  # fmt: skip


class Server(paramiko.ServerInterface):
    """Let everybody in, and note what they want."""

    def __init__(self, *, forge: bool, flood: bool) -> None:
        self.forge, self.flood = forge, flood

    def get_allowed_auths(self, _username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, _key: paramiko.PKey) -> int:
        note(f"login {username}")
        return AUTH_SUCCESSFUL

    def check_channel_request(self, _kind: str, _chanid: int) -> int:
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        note(f"command {command!r}")
        threading.Thread(target=self.ended_well, args=(channel,), daemon=True).start()
        return True

    def check_channel_subsystem_request(self, channel: paramiko.Channel, name: str) -> bool:
        note(f"subsystem {name}")
        threading.Thread(target=self.speak, args=(channel,), daemon=True).start()
        return self.forge

    def ended_well(self, channel: paramiko.Channel) -> None:
        time.sleep(0.2)
        channel.send_exit_status(0)
        channel.close()

    def speak(self, channel: paramiko.Channel) -> None:
        """Give facts, answer what is asked with a yes, and forge the rest."""
        facts = believable()
        if self.flood:
            facts = replace(facts, path="$(touch /tmp/canary):/tmp")
        with contextlib.suppress(OSError, EOFError):
            channel.sendall(messages.facts_message(facts, ticket=1).encode())
            while self.flood:
                channel.sendall(b"y" * 65536)
            for message in FORGED:
                channel.sendall(message.encode())
            file = channel.makefile("rb")
            while line := file.readline():
                channel.sendall(line)  # its own words, back to it
                with contextlib.suppress(ValueError):
                    asked = json.loads(line)
                    channel.sendall(json.dumps({**asked, "ok": True, "code": 0}).encode() + b"\n")


def believable() -> Facts:
    """Tell of this container what a worker would."""
    env = dict(os.environ)
    mpirun = shutil.which("mpirun") or ""
    said = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=True).stdout
    return replace(
        inspect.facts(env),
        mpi=agreement.called(said),
        mpi_path=os.path.realpath(mpirun),
        daemon=inspect.find_daemon(mpirun, agreement.daemons(said), env),
    )


def note(text: str) -> None:
    """Keep what was asked for."""
    with Path("/tmp/asked").open("a") as file:
        file.write(f"{text}\n")


def stolen() -> paramiko.PKey:
    """Return the host key of the job, made from its secret as a worker makes it."""
    with tempfile.TemporaryDirectory() as directory:
        made = keymaking.prepare(Origin(secret=os.environ["STOLEN"], what="x"), Path(directory))
        return paramiko.Ed25519Key(filename=made.host_keys[0])


def pour(sock: socket.socket, what: bytes) -> None:
    """Send the same bytes for as long as they are taken."""
    with contextlib.suppress(OSError):
        while True:
            sock.sendall(what)


def serve(sock: socket.socket, mode: str, key: paramiko.PKey | None) -> None:
    """Serve one connection."""
    if mode == "banner":
        pour(sock, b"x" * 65536)
    elif mode == "lines":
        pour(sock, b"not ssh\r\n" * 1000)
    elif mode == "silent":
        time.sleep(LAST_S)
    else:
        transport = paramiko.Transport(sock)
        transport.add_server_key(key)  # type: ignore[arg-type]
        with contextlib.suppress(paramiko.SSHException, EOFError, OSError):
            transport.start_server(server=Server(forge=mode == "thief", flood="FLOOD" in sys.argv))


def main() -> None:
    """Serve whoever comes."""
    mode = sys.argv[1]
    key = stolen() if mode in ("thief", "stranger") else None
    with socket.create_server(("", 22), backlog=64) as listener:
        os.write(1, b"listening\n")
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=serve, args=(sock, mode, key), daemon=True).start()


if __name__ == "__main__":
    main()
