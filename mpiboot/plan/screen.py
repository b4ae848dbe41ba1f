"""Put lines of many ranks on one screen, so that every line has one owner and says whose it is."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from mpiboot.plan.frames import OWN, Record

_OWN = (OWN, "")
# Where a line begins anew within a piece: what a carriage return will overwrite has a tag of its own.
_ANEW = re.compile(rb"\n(?!\Z)|\r(?![\r\n]|\Z)")


class Screen:
    """What has been shown in one place: whose line is open, and which lines others have broken off.

    A rank that goes on with its open line gets no second tag. Where another one has written
    meanwhile, a newline stands between, and the tag of what follows ends with a plus sign: the
    newline before it is ours. With the lines of one rank, tags taken off and lines with a plus
    put to the one before, anybody has what the rank wrote, byte for byte.

    Args:
        tag: whether each line gets its rank.
        stamp: whether each line gets its time. With neither, nothing is ever added.
    """

    def __init__(self, *, tag: bool, stamp: bool) -> None:
        self._tag = tag
        self._stamp = stamp
        self._open: tuple[int, str] | None = None
        self._half: dict[tuple[int, str], bool] = {}  # begun lines: whether they end in a return
        self._broken: set[tuple[int, str]] = set()

    def show(self, record: Record) -> bytes:
        """Return what is to be written for a piece of output."""
        if not (self._tag or self._stamp) or not record.data:
            return record.data
        if record.rank == OWN:
            return self._words(record.data)
        key, data = (record.rank, record.stream), record.data
        returned = self._half.pop(key, None)
        broken = key in self._broken
        self._broken.discard(key)
        if broken and data.startswith(b"\n"):  # that newline has been shown
            broken, returned, data = False, None, data[1:]
            if not data:
                return b""
        begun = b"" if self._open == key else self.interrupt()
        prefix = self._prefix(record, b" ")
        if broken:
            begun += self._prefix(record, b"+ ")
        elif returned is None or (returned and data[:1] not in b"\r\n"):
            begun += prefix
        return begun + self._body(key, data, prefix)

    def interrupt(self) -> bytes:
        """Return what ends the line that is open, before somebody else writes."""
        if self._open is None:
            return b""
        if self._open != _OWN:
            self._broken.add(self._open)
        self._open = None
        return b"\n"

    def _words(self, data: bytes) -> bytes:
        """Show words of mpirun's own: nobody's line is theirs, and they get no tag."""
        begun = b"" if self._open == _OWN else self.interrupt()
        self._open = None if data.endswith(b"\n") else _OWN
        return begun + data

    def _body(self, key: tuple[int, str], data: bytes, prefix: bytes) -> bytes:
        if data.endswith(b"\n"):
            self._open = None
        else:
            self._open = key
            self._half[key] = data.endswith(b"\r")
        if b"\r" in data:
            return _ANEW.sub(lambda found: found.group() + prefix, data)
        return data[:-1].replace(b"\n", b"\n" + prefix) + data[-1:]

    def _prefix(self, record: Record, end: bytes) -> bytes:
        words = [stamp(record.time_ms)] if self._stamp else []
        if self._tag:
            words.append(f"[{record.rank}]")
        return " ".join(words).encode() + end


def stamp(time_ms: int) -> str:
    """Write a time in milliseconds since 1970 as people and collectors read it."""
    at = datetime.fromtimestamp(time_ms // 1000, tz=timezone.utc)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}Z"
