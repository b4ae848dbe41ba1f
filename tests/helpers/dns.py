"""A small DNS server whose records appear when they are told to, and that keeps what it was asked.

In a test: `with Server(zone) as server:`, with `server.port` and `server.queries`; as a pod, by
tests.helpers.nameserver. In a container of its own, by nothing but this file and Python:
`python3 dns.py ZONE.json [--port 53]`; the file is read anew whenever it changes.

Times are those of the monotonic clock, which is one for all pods and containers of a machine. What
the zone does not hold does not exist; what it holds with addresses of the other family only has no
record of the type that is asked for. Answers over UDP that are too long are cut, and come whole
over TCP, as RFC 1035 has it.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import socketserver
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

A, AAAA = 1, 28
NO_ERROR, FORMAT_ERROR, NO_NAME = 0, 1, 3
CUT = 0x0200
UDP, TCP = "udp", "tcp"
_AUTHORITATIVE_ANSWER, _RECURSION_WANTED = 0x8400, 0x0100
_TTL_S = 1
_LIMITS_BYTES = {UDP: 512, TCP: 65535}
_KIND = {4: A, 6: AAAA}
_WORDS = {A: "A", AAAA: "AAAA"}
_POLL_S = 0.05

Records = Mapping[str, Mapping[str, float]]


class Zone:
    """Names and their addresses, each from a certain time on.

    Args:
        clock: seconds; the times of the records are on it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._records: dict[str, dict[str, float]] = {}

    def publish(self, name: str, *addresses: str, after_s: float = 0.0) -> None:
        """Let a name have addresses, now or some time from now."""
        at = self._clock() + after_s
        self._records.setdefault(_key(name), {}).update(dict.fromkeys(addresses, at))

    def withdraw(self, name: str) -> None:
        """Let nobody find a name any more."""
        self._records.pop(_key(name), None)

    def replace(self, records: Records) -> None:
        """Hold these records and no others."""
        self._records = {_key(name): dict(held) for name, held in records.items()}

    def addresses(self, name: str) -> list[str] | None:
        """Return what a name has now; None: there is no such name."""
        now = self._clock()
        return [a for a, at in self._records.get(_key(name), {}).items() if at <= now] or None


class ZoneFile(Zone):
    """A zone as a file has it, `{name: {address: time}}`; without one it is empty."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._stamp: tuple[int, int] | None = None

    def addresses(self, name: str) -> list[str] | None:
        if self._path.exists():
            seen = self._path.stat()
            stamp = (seen.st_mtime_ns, seen.st_ino)
            if stamp != self._stamp:
                self._stamp = stamp
                self.replace(json.loads(self._path.read_text()))
        return super().addresses(name)


def write(path: Path, records: Records) -> None:
    """Write the file that a server reads, whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(records))
    new.rename(path)


def _key(name: str) -> str:
    return name.rstrip(".").lower()


@dataclass(frozen=True, kw_only=True)
class Query:
    """A question as the server heard it.

    Attributes:
        name: what was asked for, in small letters.
        kind: of which type: A, AAAA, or a number.
        over: UDP or TCP; what was cut over the one is asked for again over the other.
        at_s: when, by the monotonic clock.
        asker: from which address.
    """

    name: str
    kind: str
    over: str
    at_s: float
    asker: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.over} {self.at_s:.3f} {self.asker}"

    @classmethod
    def of(cls, line: str) -> Query:
        """Read a line of the log."""
        kind, name, over, at, asker = line.split(" ")
        return cls(name=name, kind=kind, over=over, at_s=float(at), asker=asker)


def per_name(queries: Iterable[Query]) -> Mapping[str, int]:
    """Count the questions for each name."""
    return Counter(query.name for query in queries)


def question(packet: bytes) -> tuple[str, int, int] | None:
    """Return name and type of the one question of a query, and where it ends; None: it is no query."""
    if len(packet) < 12 or packet[2] & 0x80 or struct.unpack_from(">H", packet, 4)[0] != 1:
        return None
    labels, at = [], 12
    while at < len(packet) and packet[at]:
        length = packet[at]
        if length > 63 or at + 1 + length > len(packet):
            return None
        labels.append(packet[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    if at + 5 > len(packet):
        return None
    name = "".join("?" if letter.isspace() else letter for letter in ".".join(labels))
    return _key(name) or ".", struct.unpack_from(">H", packet, at + 1)[0], at + 5


def answer(packet: bytes, zone: Zone, limit: int = _LIMITS_BYTES[UDP]) -> bytes:
    """Answer a query as the one who knows; empty where nobody is to be answered.

    Args:
        packet: what came.
        zone: what is known.
        limit: bytes of an answer.
    """
    if len(packet) < 12:
        return b""
    identity, flags = struct.unpack_from(">HH", packet, 0)
    base = _AUTHORITATIVE_ANSWER | (flags & _RECURSION_WANTED)
    asked = question(packet)
    if asked is None:
        return struct.pack(">6H", identity, base | FORMAT_ERROR, 0, 0, 0, 0)
    name, kind, end = asked
    addresses = zone.addresses(name)
    records = [
        _record(a) for a in map(ipaddress.ip_address, addresses or ()) if _KIND[a.version] == kind
    ]
    if end + sum(map(len, records)) > limit:
        records, base = [], base | CUT
    code = NO_NAME if addresses is None else NO_ERROR
    head = struct.pack(">6H", identity, base | code, 1, len(records), 0, 0)
    return head + packet[12:end] + b"".join(records)


def _record(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bytes:
    data = address.packed
    return struct.pack(">HHHIH", 0xC00C, _KIND[address.version], 1, _TTL_S, len(data)) + data


class Server:
    """A server in threads of its own; ports are chosen by the system unless one is given.

    Args:
        zone: what it knows.
        address: where it listens.
        port: for UDP and TCP.
        on_query: is told of each question.
    """

    def __init__(
        self,
        zone: Zone,
        address: str = "127.0.0.1",
        port: int = 0,
        on_query: Callable[[Query], None] = lambda _query: None,
    ) -> None:
        self.zone = zone
        self.queries: list[Query] = []
        self._on_query = on_query
        self._servers = (_Datagrams((address, port), self), _Streams((address, port), self))
        self.port, self.tcp_port = (int(one.server_address[1]) for one in self._servers)

    def __enter__(self) -> Server:  # noqa: PYI034 - Self is not in every Python here
        for one in self._servers:
            threading.Thread(target=one.serve_forever, args=(_POLL_S,), daemon=True).start()
        return self

    def __exit__(self, *_fault: object) -> None:
        for one in self._servers:
            one.shutdown()
            one.server_close()

    def hear(self, packet: bytes, over: str, asker: str) -> bytes:
        """Take in what came, and answer."""
        asked = question(packet)
        if asked is not None:
            name, kind, _ = asked
            word = _WORDS.get(kind, str(kind))
            query = Query(name=name, kind=word, over=over, at_s=time.monotonic(), asker=asker)
            self.queries.append(query)
            self._on_query(query)
        return answer(packet, self.zone, _LIMITS_BYTES[over])


class _Datagrams(socketserver.UDPServer):
    def __init__(self, address: tuple[str, int], server: Server) -> None:
        super().__init__(address, _Datagram)
        self.hear = server.hear


class _Datagram(socketserver.BaseRequestHandler):
    server: _Datagrams

    def handle(self) -> None:
        packet, back = self.request
        reply = self.server.hear(packet, UDP, self.client_address[0])
        if reply:  # who sent no query gets no answer, not an empty one
            back.sendto(reply, self.client_address)


class _Streams(socketserver.ThreadingTCPServer):
    daemon_threads, allow_reuse_address = True, True

    def __init__(self, address: tuple[str, int], server: Server) -> None:
        super().__init__(address, _Stream)
        self.hear = server.hear


class _Stream(socketserver.StreamRequestHandler):
    server: _Streams

    def handle(self) -> None:
        while len(size := self.rfile.read(2)) == 2:
            packet = self.rfile.read(int.from_bytes(size, "big"))
            said = self.server.hear(packet, TCP, self.client_address[0])
            self.wfile.write(len(said).to_bytes(2, "big") + said)


def main() -> None:
    """Serve a zone from a file until killed; print each question."""
    made = argparse.ArgumentParser()
    made.add_argument("zone", type=Path)
    made.add_argument("--port", type=int, default=53)
    args = made.parse_args()
    with Server(ZoneFile(args.zone), "0.0.0.0", args.port, lambda query: print(query, flush=True)):  # noqa: T201
        sys.stderr.write("serving\n")
        threading.Event().wait()


if __name__ == "__main__":
    main()
