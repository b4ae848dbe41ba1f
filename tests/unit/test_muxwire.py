"""OpenSSH's multiplexing protocol: what is asked is read, and nonsense is nonsense."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.link import muxwire
from mpiboot.link.muxwire import Asked, MuxError


def packet(*fields: int | bytes) -> bytes:
    """Make a message of numbers and strings."""
    body = b"".join(
        struct.pack(">I", one) if isinstance(one, int) else struct.pack(">I", len(one)) + one
        for one in fields
    )
    return struct.pack(">I", len(body)) + body


def session(command: bytes, *, tty: int = 0, subsystem: int = 0) -> bytes:
    """Make a request for a session as mux_client_request_session of OpenSSH does."""
    return packet(muxwire.NEW_SESSION, 7, b"", tty, 0, 0, subsystem, 126, b"xterm", command, b"A=1")


def test_a_whole_conversation() -> None:
    """Messages that come in pieces are read when they are whole, and in their order."""
    sent = packet(muxwire.HELLO, 4) + packet(muxwire.ALIVE_CHECK, 6) + session(b"echo \xff")
    buffer, found = bytearray(), list[Asked]()
    for byte in sent:
        buffer.append(byte)
        asked = muxwire.take(buffer)
        found += [asked] if asked is not None else []
    assert found == [
        Asked(kind=muxwire.HELLO),
        Asked(kind=muxwire.ALIVE_CHECK, request=6),
        Asked(kind=muxwire.NEW_SESSION, request=7, command=b"echo \xff", plain=True),
    ]
    assert not buffer


@pytest.mark.parametrize("other", [{"tty": 1}, {"subsystem": 1}])
def test_what_is_no_plain_command(other: dict[str, int]) -> None:
    """A terminal and a subsystem are seen."""
    asked = muxwire.take(bytearray(session(b"sftp", **other)))
    assert asked is not None
    assert not asked.plain


@pytest.mark.parametrize(
    "sent",
    [
        packet(muxwire.HELLO, 3),
        packet(muxwire.HELLO),
        packet(muxwire.NEW_SESSION, 7, b"", 0, 0),
        struct.pack(">II", 8, muxwire.NEW_SESSION) + struct.pack(">I", 1),
        struct.pack(">I", 1 << 21),
        struct.pack(">I", 3) + b"abc",
        packet(muxwire.NEW_SESSION, 7, 1 << 31),
    ],
)
def test_nonsense(sent: bytes) -> None:
    """Another version, a length that is none, fields that are not there."""
    with pytest.raises(MuxError):
        muxwire.take(bytearray(sent))


@given(st.binary(max_size=200))
def test_any_bytes(sent: bytes) -> None:
    """They are a message, or too few, or nonsense; and what was taken is gone."""
    buffer = bytearray(sent)
    try:
        while muxwire.take(buffer) is not None:
            pass
    except MuxError:
        return
    assert len(buffer) < 4 or len(buffer) < 4 + int.from_bytes(buffer[:4], "big")


def test_answers() -> None:
    """They are what PROTOCOL.mux says."""
    assert muxwire.hello() == packet(1, 4)
    assert muxwire.alive(6, 1) == packet(0x80000005, 6, 1)
    assert muxwire.opened(7, 1) == packet(0x80000006, 7, 1)
    assert muxwire.ended(1, 3) == packet(0x80000004, 1, 3)
    assert muxwire.failure(7, "no") == packet(0x80000003, 7, b"no")
