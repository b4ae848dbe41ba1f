"""The messages by which an ssh asks another one for a session over a connection that is open already.

Source: PROTOCOL.mux of OpenSSH, version 4 of the protocol, which 8.0 to 10.0 speak. A message is its
length and its kind, four bytes each, then numbers of four bytes and strings with their length; after
a request for a session three bytes follow, with one descriptor each.
"""

from __future__ import annotations

import struct

from mpiboot.model.record import dataclass

HELLO, NEW_SESSION, ALIVE_CHECK = 0x00000001, 0x10000002, 0x10000004
DESCRIPTORS = 3  # stdin, stdout, stderr
_FAILURE, _EXIT, _ALIVE, _OPENED = 0x80000003, 0x80000004, 0x80000005, 0x80000006
_VERSION = 4
_LONGEST = 1 << 20  # bytes of a message: a command line has 128 KiB at most
_NUMBER = struct.Struct(">I")


class MuxError(ValueError):
    """The other side does not speak this protocol."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What an ssh asks for.

    Attributes:
        kind: of the message.
        request: the number by which it is answered.
        command: what to run; empty: a shell.
        plain: whether it is a command without a terminal and without anything forwarded.
    """

    kind: int
    request: int = 0
    command: bytes = b""
    plain: bool = False


def take(buffer: bytearray) -> Asked | None:
    """Take the first message out of a buffer; None while it is not whole.

    Raises:
        MuxError: it is none.
    """
    if len(buffer) < _NUMBER.size:
        return None
    (length,) = _NUMBER.unpack_from(buffer)
    if not _NUMBER.size <= length <= _LONGEST:
        raise MuxError(f"a message of {length} bytes")
    end = _NUMBER.size + length
    if len(buffer) < end:
        return None
    fields = _Fields(bytes(buffer[_NUMBER.size : end]))
    del buffer[:end]
    return _read(fields)


def _read(fields: _Fields) -> Asked:
    kind = fields.number()
    if kind == HELLO:
        version = fields.number()
        if version != _VERSION:
            raise MuxError(f"version {version}")
        return Asked(kind=kind)
    request = fields.number()
    if kind != NEW_SESSION:
        return Asked(kind=kind, request=request)
    fields.string()  # reserved
    tty, x11, agent, subsystem = (fields.number() for _ in range(4))
    fields.number()  # the escape character
    fields.string()  # the terminal's type
    plain = not (tty or x11 or agent or subsystem)
    return Asked(kind=kind, request=request, command=fields.string(), plain=plain)


class _Fields:
    """The fields of a message, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        return int(_NUMBER.unpack(self._next(_NUMBER.size))[0])

    def string(self) -> bytes:
        return self._next(self.number())

    def _next(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise MuxError("a message that is cut short")
        self._at += size
        return found


def hello() -> bytes:
    """Greet; both sides do."""
    return _message(HELLO, _VERSION)


def alive(request: int, pid: int) -> bytes:
    """Say that this side lives; to a process number above 1 an ssh would pass on SIGWINCH."""
    return _message(_ALIVE, request, pid)


def opened(request: int, session: int) -> bytes:
    """Say that the session is open."""
    return _message(_OPENED, request, session)


def ended(session: int, code: int) -> bytes:
    """Say with which code the command has ended."""
    return _message(_EXIT, session, code)


def failure(request: int, why: str) -> bytes:
    """Refuse; ssh then makes a connection of its own."""
    text = why.encode(errors="replace")
    return _message(_FAILURE, request, len(text), rest=text)


def _message(*numbers: int, rest: bytes = b"") -> bytes:
    body = b"".join(map(_NUMBER.pack, numbers)) + rest
    return _NUMBER.pack(len(body)) + body
