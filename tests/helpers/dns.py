"""A small authoritative DNS server over UDP, whose records appear when they are told to.

In a test: `with Server(zone) as server:`, with `server.port` and `server.queries`. In a container of
its own, by nothing but Python: `python3 dns.py ZONE.json [--port 53]`; the file is read anew whenever
it changes.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

A, AAAA = 1, 28
NO_ERROR, FORMAT_ERROR, NO_NAME, NOT_IMPLEMENTED = 0, 1, 3, 4
_AUTHORITATIVE_ANSWER = 0x8400
_RECURSION_WANTED = 0x0100
_TTL_S = 1
_MOST = 512  # bytes of an answer over UDP
_POLL_S = 0.1


class Zone:
    """Names and their addresses, each from a certain time on.

    Args:
        clock: seconds; those of `at` are on it. The default is one for all containers of a machine.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._records: dict[str, list[tuple[str, float]]] = {}

    def publish(self, name: str, *addresses: str, after_s: float = 0.0) -> None:
        """Let a name have addresses, now or some time from now."""
        self.publish_at(name, *addresses, at=self._clock() + after_s)

    def publish_at(self, name: str, *addresses: str, at: float) -> None:
        """Let a name have addresses from a time of the clock on."""
        held = self._records.setdefault(_key(name), [])
        held += [(address, at) for address in addresses]

    def withdraw(self, name: str) -> None:
        """Let nobody find a name any more."""
        self._records.pop(_key(name), None)

    def addresses(self, name: str) -> list[str] | None:
        """Return what a name has now; None: there is no such name."""
        now = self._clock()
        held = self._records.get(_key(name), ())
        found = [address for address, at in held if at <= now]
        return found or None

    @classmethod
    def of_json(cls, text: str, clock: Callable[[], float] = time.monotonic) -> Zone:
        """Read `{"name": {"addresses": [...], "at": seconds of this machine}}`."""
        zone = cls(clock)
        for name, record in json.loads(text).items():
            zone.publish_at(name, *record["addresses"], at=record.get("at", 0.0))
        return zone


def _key(name: str) -> str:
    return name.rstrip(".").lower()


@dataclass(frozen=True)
class Query:
    """A question: what was asked for, and of which type."""

    name: str
    kind: int


@dataclass
class Counts:
    """What has been asked so far."""

    queries: list[Query] = field(default_factory=list)

    def of(self, name: str) -> int:
        """Count the questions for one absolute name."""
        return sum(_key(one.name) == _key(name) for one in self.queries)


def question(packet: bytes) -> tuple[Query, int] | None:
    """Read the one question of a query; None where it is none.

    Returns:
        the question, and where it ends.
    """
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
    kind = struct.unpack_from(">H", packet, at + 1)[0]
    return Query(name=".".join(labels), kind=kind), at + 5


def answer(packet: bytes, zone: Zone) -> tuple[bytes, Query | None]:
    """Answer a query as the one who knows; an answer that would be too long is cut short.

    Returns:
        the answer, empty where nobody is to be answered, and the question.
    """
    if len(packet) < 12:
        return b"", None
    identity, flags = struct.unpack_from(">HH", packet, 0)
    base = _AUTHORITATIVE_ANSWER | (flags & _RECURSION_WANTED)
    found = question(packet)
    if found is None:
        return struct.pack(">6H", identity, base | FORMAT_ERROR, 0, 0, 0, 0), None
    query, end = found
    addresses = zone.addresses(query.name)
    records = [] if addresses is None else [_record(a) for a in addresses if _fits(a, query.kind)]
    room = (_MOST - end) // 28
    code = NO_NAME if addresses is None else NO_ERROR
    head = struct.pack(">6H", identity, base | code, 1, len(records[:room]), 0, 0)
    return head + packet[12:end] + b"".join(records[:room]), query


def _fits(address: str, kind: int) -> bool:
    return {4: A, 6: AAAA}[ipaddress.ip_address(address).version] == kind


def _record(address: str) -> bytes:
    data = ipaddress.ip_address(address).packed
    kind = A if len(data) == 4 else AAAA
    return struct.pack(">HHHIH", 0xC00C, kind, 1, _TTL_S, len(data)) + data


class Server:
    """A server in a thread of its own; `port` is chosen by the system unless given."""

    def __init__(self, zone: Zone, address: str = "127.0.0.1", port: int = 0) -> None:
        self.zone = zone
        self.counts = Counts()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, port))
        self._socket.settimeout(_POLL_S)
        self.port: int = self._socket.getsockname()[1]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Server:  # noqa: PYI034 - Self is not in every Python here
        self._thread.start()
        return self

    def __exit__(self, *_fault: object) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._over.is_set():
            self.once()

    def once(self) -> None:
        """Answer one query, or see that none comes."""
        try:
            packet, asker = self._socket.recvfrom(4096)
        except TimeoutError:
            return
        reply, query = answer(packet, self.zone)
        if query is not None:
            self.counts.queries.append(query)
        if reply:
            self._socket.sendto(reply, asker)


def main() -> None:
    """Serve a zone from a file until killed; print each question."""
    made = argparse.ArgumentParser()
    made.add_argument("zone", type=Path)
    made.add_argument("--port", type=int, default=53)
    args = made.parse_args()
    server = Server(Zone(), "0.0.0.0", args.port)
    seen: Any = None
    shown = 0
    while True:
        stamp = _stamp(args.zone)
        if stamp != seen and stamp is not None:
            seen, server.zone = stamp, Zone.of_json(args.zone.read_text())
        server.once()
        for query in server.counts.queries[shown:]:
            print(query.kind, query.name, flush=True)  # noqa: T201 - the log that tests read
        shown = len(server.counts.queries)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_ino


def zone_text(records: Mapping[str, tuple[list[str], float]]) -> str:
    """Render the file that `main` reads.

    Args:
        records: addresses of each name, and seconds of the monotonic clock from which it is known.
    """
    return json.dumps({name: {"addresses": a, "at": at} for name, (a, at) in records.items()})


if __name__ == "__main__":
    main()
