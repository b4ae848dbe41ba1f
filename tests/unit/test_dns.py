"""The tests' own DNS server answers as servers do."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import dns
from tests.helpers.dns import Query, Server, Zone, ZoneFile

MANY = [f"10.0.0.{number}" for number in range(64)]


def packet(name: str, kind: int = dns.A) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".") if part)
    return struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", kind, 1)


def read(reply: bytes) -> tuple[int, int]:
    """Return code and number of answers."""
    _, flags, _, count, _, _ = struct.unpack_from(">6H", reply)
    return flags & 0xF, count


def holding(name: str, *addresses: str) -> Zone:
    zone = Zone()
    zone.publish(name, *addresses)
    return zone


def test_a_question_is_read() -> None:
    """Name, type and end come back."""
    asked = packet("W-0.job", dns.AAAA)
    assert dns.question(asked) == ("w-0.job", dns.AAAA, len(asked))


def test_records_appear_when_they_are_told_to() -> None:
    """No such name before; its addresses, by family, from that time on; none after withdrawal."""
    now = [100.0]
    zone = Zone(lambda: now[0])
    zone.publish("w-0.pi.ns.svc.cluster.local", "10.0.0.1", after_s=3)
    asked = packet("W-0.pi.ns.svc.cluster.local")
    assert read(dns.answer(asked, zone)) == (dns.NO_NAME, 0)
    now[0] = 103.0
    reply = dns.answer(asked, zone)
    assert read(reply) == (dns.NO_ERROR, 1)
    assert reply.endswith(bytes([10, 0, 0, 1]))
    six = packet("w-0.pi.ns.svc.cluster.local", dns.AAAA)
    assert read(dns.answer(six, zone)) == (dns.NO_ERROR, 0)
    zone.publish("w-0.pi.ns.svc.cluster.local", "fd00::1")
    assert read(dns.answer(six, zone)) == (dns.NO_ERROR, 1)
    zone.withdraw("w-0.pi.ns.svc.cluster.local.")
    assert read(dns.answer(asked, zone)) == (dns.NO_NAME, 0)


def test_each_address_has_its_time() -> None:
    """A Service's answer grows with its pods."""
    now = [1.0]
    zone = Zone(lambda: now[0])
    zone.replace({"Job.ns.": {"10.0.0.1": 0.0, "10.0.0.2": 2.0}})
    assert zone.addresses("job.ns") == ["10.0.0.1"]
    now[0] = 2.0
    assert zone.addresses("job.ns") == ["10.0.0.1", "10.0.0.2"]


def test_a_zone_from_a_file(tmp_path: Path) -> None:
    """The form that a test writes is the form that the server reads, whenever it is written."""
    path = tmp_path / "zone.json"
    zone = ZoneFile(path)
    assert zone.addresses("a.b") is None
    dns.write(path, {"a.b": {"10.0.0.1": 0.0}})
    assert zone.addresses("a.b") == ["10.0.0.1"]
    dns.write(path, {"c.d": {"10.0.0.2": 0.0}})
    assert (zone.addresses("a.b"), zone.addresses("c.d")) == (None, ["10.0.0.2"])


def test_long_answers_are_cut() -> None:
    """Beyond the limit there is only the mark that TCP has more."""
    zone = holding("w", *MANY)
    cut = dns.answer(packet("w"), zone)
    assert struct.unpack_from(">H", cut, 2)[0] & dns.CUT
    assert read(cut) == (dns.NO_ERROR, 0)
    assert read(dns.answer(packet("w"), zone, 65535)) == (dns.NO_ERROR, 64)


def test_a_server_answers_and_remembers() -> None:
    """Over real sockets, on ports that were free; who sends no query is not answered for one."""
    with Server(holding("a.b", *MANY[:2])) as server:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(5)
            asker.sendto(b"?", ("127.0.0.1", server.port))
            asker.sendto(packet("A.b"), ("127.0.0.1", server.port))
            assert read(asker.recv(512)) == (dns.NO_ERROR, 2)
            asker.sendto(packet("c.d", dns.AAAA), ("127.0.0.1", server.port))
            assert read(asker.recv(512)) == (dns.NO_NAME, 0)
        with socket.create_connection(("127.0.0.1", server.tcp_port), timeout=5) as stream:
            whole = packet("a.b")
            stream.sendall(len(whole).to_bytes(2, "big") + whole)
            with stream.makefile("rb") as replies:
                assert read(replies.read(int.from_bytes(replies.read(2), "big")))[1] == 2
    heard = [(query.name, query.kind, query.over) for query in server.queries]
    assert heard == [("a.b", "A", "udp"), ("c.d", "AAAA", "udp"), ("a.b", "A", "tcp")]
    assert dns.per_name(server.queries) == {"a.b": 2, "c.d": 1}


def test_the_log_is_read_as_it_is_written() -> None:
    """A question of any name is one line of five words."""
    for name in ("w-0.job", ""):
        query = Query(name=name or ".", kind="A", over=dns.UDP, at_s=1.5, asker="10.0.0.1")
        assert Query.of(str(query)) == query


@given(data=st.binary(max_size=80))
def test_any_packet_is_survived(data: bytes) -> None:
    """What is no query gets an error, or nothing."""
    reply = dns.answer(data, Zone())
    assert reply == b"" or reply[:2] == data[:2]
    assert len(reply) <= 512
    asked = dns.question(data)
    if asked is not None:
        query = Query(name=asked[0], kind=str(asked[1]), over=dns.UDP, at_s=0, asker="::")
        assert Query.of(str(query)) == query
