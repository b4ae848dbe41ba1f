"""Sit between a job and a worker's sshd: record what goes there, and say it again, byte for byte.

eavesdrop.py record WORKER DIRECTORY    pass all connections on, and keep each one's bytes
eavesdrop.py replay WORKER DIRECTORY    send each recording anew; print how many bytes came back
"""

from __future__ import annotations

import contextlib
import pathlib
import socket
import sys
import threading

PORT = 22
_SILENT_S = 3.0


def pump(source: socket.socket, sink: socket.socket, kept: pathlib.Path | None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if kept is not None:
                with kept.open("ab") as file:
                    file.write(data)
            sink.sendall(data)
    for sock in (source, sink):
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def record(worker: str, directory: pathlib.Path) -> None:
    with socket.create_server(("", PORT)) as listener:
        number = 0
        while True:
            client, _ = listener.accept()
            server, number = socket.create_connection((worker, PORT)), number + 1
            kept = directory / f"{number}.bytes"
            for words in ((client, server, kept), (server, client, None)):
                threading.Thread(target=pump, args=words, daemon=True).start()


def replay(worker: str, directory: pathlib.Path) -> None:
    for path in sorted(directory.glob("*.bytes")):
        with socket.create_connection((worker, PORT)) as sock:
            sock.settimeout(_SILENT_S)
            got = 0
            with contextlib.suppress(OSError):
                sock.sendall(path.read_bytes())
                while data := sock.recv(65536):
                    got += len(data)
        sys.stdout.write(f"{path.name} {path.stat().st_size} {got}\n")


if __name__ == "__main__":
    {"record": record, "replay": replay}[sys.argv[1]](sys.argv[2], pathlib.Path(sys.argv[3]))
