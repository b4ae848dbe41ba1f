"""Write lines of ranks and of mpirun as JSON, one object a line; log.schema.json describes them."""

from __future__ import annotations

import json

from mpiboot.plan.frames import OWN, Record
from mpiboot.plan.screen import stamp

MOST_BYTES = 16_384  # of an entry with its newline: container runtimes cut longer ones
_MOST_PART = 8_192
_LONGEST_HOST = 255
_MOST_HOSTS = 1 << 17
_STREAMS = {"o": "stdout", "e": "stderr"}


class Entries:
    """Turn pieces of output into entries.

    Args:
        attempt: number of the attempt at the job, from 1.
        host: name of this machine, where mpirun runs.
    """

    def __init__(self, attempt: int, host: str) -> None:
        self._attempt = attempt
        self._hosts: dict[int, str] = {OWN: host}

    def place(self, record: Record) -> None:
        """Take a rank's word for where it runs; of those without a number nobody knows which is which."""
        known = record.rank in self._hosts or len(self._hosts) < _MOST_HOSTS
        if record.rank >= 0 and known:
            name = record.data[:_LONGEST_HOST].decode(errors="replace")
            self._hosts[record.rank] = "".join(c if c.isprintable() else "?" for c in name)

    def show(self, record: Record) -> bytes:
        """Return the entries of whole lines, and of half a line at the end, newlines included."""
        *whole, rest = record.data.split(b"\n")
        head = self._head(record)
        found = [entry for line in whole for entry in _entries(head, line, partial=False)]
        if rest:
            found += _entries(head, rest, partial=True)
        return "".join(found).encode()

    def interrupt(self) -> bytes:
        """Return what ends an open line: there is none."""
        return b""

    def _head(self, record: Record) -> str:
        known: dict[str, object] = {
            "time": stamp(record.time_ms),
            "level": "info",
            "role": "mpirun" if record.rank == OWN else "rank",
        }
        host = self._hosts.get(record.rank)
        if host:
            known["host"] = host
        if record.rank >= 0:
            known["rank"] = record.rank
        known["stream"] = _STREAMS[record.stream]
        known["attempt"] = self._attempt
        return json.dumps(known, ensure_ascii=False)[:-1] + ', "message": '


def _entries(head: str, line: bytes, *, partial: bool) -> list[str]:
    """Write a line, in several parts where it is long."""
    if len(line) <= _MOST_PART:
        entry = head + _message(line) + (', "partial": true}\n' if partial else "}\n")
        if len(entry.encode()) <= MOST_BYTES:
            return [entry]
    middle = len(line) // 2
    for at in range(middle, middle - 4, -1):
        if line[at] & 0xC0 != 0x80:  # no half characters
            middle = at
            break
    first = _entries(head, line[:middle], partial=True)
    return first + _entries(head, line[middle:], partial=partial)


def _message(line: bytes) -> str:
    """Write the text; bytes that are no UTF-8 are replaced, and that is told."""
    try:
        return json.dumps(line.decode(), ensure_ascii=False)
    except UnicodeDecodeError:
        return json.dumps(line.decode(errors="replace"), ensure_ascii=False) + ', "replaced": true'
