r"""A small DNS server for pods: A records with publishing times, every query counted.

    server = nameserver.start(agents, zone_path)          # a pod of its own, on port 53
    zone_path.write_text("w-0.job.ns.svc.cluster.local 10.77.0.5 3.0\n")
    server.queries()                                       # (seconds, type, name), in order

A line of the zone is a name, an address and the second of the server's life from which on it
answers; the zone is read anew when it changes. All addresses of a name are in its answer. What it
does not know does not exist; what it knows has no AAAA record. Answers beyond 512 bytes are cut,
and come whole over TCP, as RFC 1035 has it.
"""

from __future__ import annotations

import ipaddress
import os
import socketserver
import struct
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.helpers.agents import Agent, Agents

SEARCH = "ns.svc.cluster.local svc.cluster.local cluster.local"
A, AAAA = 1, 28
_ANSWER, _CUT, _NO_NAME = 0x8580, 0x0200, 3
_UDP_BYTES = 512


@dataclass(frozen=True, kw_only=True)
class Query:
    """One question as the server heard it."""

    at_s: float
    kind: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server: its pod and what it has heard."""

    agent: Agent
    resolv_conf: Path

    def queries(self) -> list[Query]:
        """List all questions so far, in order."""
        words = (line.split(" ", 2) for line in self.agent.out.decode().splitlines())
        return [Query(at_s=float(at), kind=kind, name=name) for at, kind, name in words]


def start(agents: Agents, zone: Path, *, search: str = SEARCH) -> Server:
    """Start a server in a pod, and write the resolv.conf that a Kubernetes pod would have."""
    zone.touch()
    argv = (sys.executable, "-I", "-u", __file__, str(zone))
    agent = agents.start("nameserver", argv)
    resolv_conf = zone.with_name("resolv.conf")
    resolv_conf.write_text(
        f"search {search}\nnameserver {agent.pod.address}\noptions ndots:5 timeout:1\n"
    )
    agent.until_logged("serving")
    return Server(agent=agent, resolv_conf=resolv_conf)


class Zone:
    """The records of a file, by name: addresses with the second from which on they are there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = 0
        self._records: dict[str, list[tuple[float, str]]] = {}

    def addresses(self, name: str, at_s: float) -> list[str] | None:
        """Return what a name has by now; None where it does not exist yet."""
        stamp = self._path.stat().st_mtime_ns
        if stamp != self._stamp:
            self._stamp, self._records = stamp, read(self._path.read_text())
        found = [address for since_s, address in self._records.get(name, ()) if since_s <= at_s]
        return found or None


def read(text: str) -> dict[str, list[tuple[float, str]]]:
    """Read the records of a zone."""
    records: dict[str, list[tuple[float, str]]] = {}
    for line in text.splitlines():
        name, address, *since = line.split()
        records.setdefault(name.lower(), []).append((float(since[0]) if since else 0.0, address))
    return records


def question(message: bytes) -> tuple[str, int, int]:
    """Return name and type of the first question, and where it ends."""
    labels, at = [], 12
    while message[at]:
        labels.append(message[at + 1 : at + 1 + message[at]].decode("ascii", "replace"))
        at += 1 + message[at]
    return ".".join(labels).lower(), struct.unpack_from("!H", message, at + 1)[0], at + 5


def answer(message: bytes, addresses: list[str] | None, limit: int) -> bytes:
    """Make the answer to a query: the addresses, nothing of this kind, or no such name."""
    _, kind, end = question(message)
    shown = addresses if addresses and kind == A else []
    code = 0 if addresses else _NO_NAME
    records = b"".join(
        struct.pack("!HHHIH", 0xC00C, A, 1, 1, 4) + ipaddress.IPv4Address(address).packed
        for address in shown
    )
    cut = end + len(records) > limit
    flags = _ANSWER | code | (_CUT if cut else 0)
    head = message[:2] + struct.pack("!HHHHH", flags, 1, 0 if cut else len(shown), 0, 0)
    return head + message[12:end] + (b"" if cut else records)


def serve(zone: Zone) -> None:
    """Answer on port 53, UDP and TCP, for ever; say each question on stdout."""
    began = time.monotonic()

    def hear(message: bytes, limit: int) -> bytes:
        name, kind, _ = question(message)
        at_s = time.monotonic() - began
        word = {A: "A", AAAA: "AAAA"}.get(kind, str(kind))
        os.write(1, f"{at_s:.3f} {word} {name}\n".encode())
        return answer(message, zone.addresses(name, at_s), limit)

    class Datagram(socketserver.DatagramRequestHandler):
        def handle(self) -> None:
            self.wfile.write(hear(self.rfile.read(), _UDP_BYTES))

    class Stream(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while size := self.rfile.read(2):
                said = hear(self.rfile.read(int.from_bytes(size, "big")), 65535)
                self.wfile.write(len(said).to_bytes(2, "big") + said)

    streams = socketserver.ThreadingTCPServer(("", 53), Stream)
    threading.Thread(target=streams.serve_forever, daemon=True).start()
    with socketserver.UDPServer(("", 53), Datagram) as datagrams:
        sys.stderr.write("serving\n")
        datagrams.serve_forever()


def per_name(queries: list[Query]) -> Mapping[str, int]:
    """Count the questions for each name."""
    counts: dict[str, int] = {}
    for query in queries:
        counts[query.name] = counts.get(query.name, 0) + 1
    return counts


if __name__ == "__main__":
    serve(Zone(Path(sys.argv[1])))
