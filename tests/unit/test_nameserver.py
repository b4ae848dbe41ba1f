"""The tests' own DNS server answers as servers do."""

from __future__ import annotations

import struct

from tests.helpers import nameserver


def query(name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    head = struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0)
    return head + labels + b"\0" + struct.pack("!HH", kind, 1)


def flags(message: bytes) -> int:
    return int(struct.unpack_from("!H", message, 2)[0])


def count(message: bytes) -> int:
    return int(struct.unpack_from("!H", message, 6)[0])


def test_a_question_is_read() -> None:
    """Name, type and end come back."""
    message = query("W-0.job", nameserver.A)
    assert nameserver.question(message) == ("w-0.job", nameserver.A, len(message))


def test_what_is_there_is_answered_and_the_rest_is_not() -> None:
    """Addresses; the name without such a record; no such name."""
    there = nameserver.answer(query("w", nameserver.A), ["10.0.0.1", "10.0.0.2"], 512)
    assert (flags(there) & 15, count(there)) == (0, 2)
    assert there.endswith(bytes([10, 0, 0, 2]))
    other = nameserver.answer(query("w", nameserver.AAAA), ["10.0.0.1"], 512)
    assert (flags(other) & 15, count(other)) == (0, 0)
    absent = nameserver.answer(query("w", nameserver.A), None, 512)
    assert (flags(absent) & 15, count(absent)) == (3, 0)


def test_long_answers_are_cut() -> None:
    """Beyond the limit there is only the mark that TCP has more."""
    many = [f"10.0.0.{number}" for number in range(64)]
    cut = nameserver.answer(query("w", nameserver.A), many, 512)
    assert flags(cut) & 0x0200
    assert (count(cut), len(cut) < 512) == (0, True)
    assert count(nameserver.answer(query("w", nameserver.A), many, 65535)) == 64


def test_records_appear_in_time() -> None:
    """A record has the second from which on it is there, 0 when it says none."""
    assert nameserver.read("a 10.0.0.1\nA 10.0.0.2 3.5\n") == {
        "a": [(0.0, "10.0.0.1"), (3.5, "10.0.0.2")]
    }
