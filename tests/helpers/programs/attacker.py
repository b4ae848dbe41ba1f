"""Knock at a job's ports as somebody who has no key of it; what got in is printed, a line each.

Usage: attacker.py keys HOST PORT | hold HOST PORT COUNT SECONDS | http HOST PORT
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable

import paramiko

USERS = ("root", "nobody", "mpi", "nosuch", "root\0x", "-oProxyCommand=x")
PATIENCE_S = 10.0
BODY = 100 << 20  # bytes
PIECE = b"x" * (1 << 16)
Way = Callable[[paramiko.Transport, str], object]


def say(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def ways() -> dict[str, Way]:
    """List the ways to log in without the job's key."""
    rsa, ecdsa = paramiko.RSAKey.generate(2048), paramiko.ECDSAKey.generate()
    return {
        "none": lambda t, user: t.auth_none(user),
        "password": lambda t, user: t.auth_password(user, "", fallback=False),
        "own password": lambda t, user: t.auth_password(user, user, fallback=False),
        "keyboard": lambda t, user: t.auth_interactive(user, lambda *_: [""]),
        "rsa": lambda t, user: t.auth_publickey(user, rsa),
        "ecdsa": lambda t, user: t.auth_publickey(user, ecdsa),
        "no login": lambda _t, _user: None,
    }


def keys(host: str, port: int) -> None:
    """Try every user in every way; once, act as if it had worked."""
    tried = 0
    for user in USERS:
        for name, way in ways().items():
            with contextlib.suppress(Exception), socket.create_connection((host, port), 5) as sock:
                transport = paramiko.Transport(sock)
                transport.auth_timeout = PATIENCE_S
                transport.start_client(timeout=PATIENCE_S)
                tried += 1
                with contextlib.suppress(paramiko.SSHException):
                    way(transport, user)
                if transport.is_authenticated():
                    say(f"IN {user} {name}")
                if transport.is_authenticated() or (user, name) == (USERS[0], "no login"):
                    act(transport, f"{user} {name}")
                transport.close()
    say(f"tried {tried}")


def act(transport: paramiko.Transport, name: str) -> None:
    """Run a command, and end the job as its launcher would."""
    with contextlib.suppress(Exception):
        channel = transport.open_session(timeout=1)
        channel.exec_command("touch /tmp/canary")
        say(f"IN {name} by a command")
    with contextlib.suppress(Exception):
        channel = transport.open_session(timeout=1)
        channel.invoke_subsystem("mpiboot")
        channel.sendall(b'{"v":2,"kind":"over","code":0,"final":true}\n')
        say(f"IN {name} by the link")


def hold(host: str, port: int, count: int, seconds: float) -> None:
    """Keep so many connections open that say a byte now and then, whatever becomes of them."""
    held: list[socket.socket | None] = [None] * count
    end, told = time.monotonic() + seconds, False
    while time.monotonic() < end:
        for number in range(count):
            held[number] = alive(held[number], host, port)
        if not told:
            say(f"holding {sum(one is not None for one in held)}")
            told = True
        time.sleep(0.5)


def alive(sock: socket.socket | None, host: str, port: int) -> socket.socket | None:
    """Return the connection with a byte more, or a new one in its place."""
    try:
        if sock is None:
            sock = socket.create_connection((host, port), 2)
            sock.setblocking(False)
        sock.send(b"S")
    except OSError:
        return None
    with contextlib.suppress(BlockingIOError):
        try:
            if sock.recv(4096) == b"":
                sock.close()
                return None
        except ConnectionError:
            return None
    return sock


def http(host: str, port: int) -> None:
    """Send what no probe sends: actions, a body of 100 MB, lines without an end, slow heads."""
    holder = threading.Thread(target=hold, args=(host, port, 200, 8.0), daemon=True)
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status = ask(host, port, f"{method} /readyz HTTP/1.1\r\n\r\n".encode())
        if b"405" not in status and status:
            say(f"IN http {method} {status!r}")
    for path in ("/../../etc/passwd", "/run/mpiboot/worker/user_key", "//", "/%00"):
        status = ask(host, port, f"GET {path} HTTP/1.1\r\n\r\n".encode())
        if b"404" not in status and status:
            say(f"IN http {path} {status!r}")
    head = b"GET /metrics HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % BODY
    say(f"body: {pour(host, port, head)} bytes taken")
    say(f"line: {pour(host, port, b'GET /')} bytes taken")
    holder.start()
    holder.join(20)
    say("http done")


def ask(host: str, port: int, request: bytes) -> bytes:
    """Return the first line of the answer; nothing where there is none."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), 5) as sock:
        sock.sendall(request)
        return sock.recv(4096).split(b"\r\n", 1)[0]
    return b""


def pour(host: str, port: int, head: bytes) -> int:
    """Send 100 MB behind a head; return how much was taken before the other side closed."""
    sent, end = 0, time.monotonic() + PATIENCE_S
    with contextlib.suppress(OSError), socket.create_connection((host, port), 5) as sock:
        sock.sendall(head)
        while sent < BODY and time.monotonic() < end:
            sent += sock.send(PIECE)
    return sent


def main() -> None:
    """Do what is asked for."""
    what, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if what == "keys":
        keys(host, port)
    elif what == "hold":
        hold(host, port, int(sys.argv[4]), float(sys.argv[5]))
    else:
        http(host, port)


if __name__ == "__main__":
    main()
