"""Read what the rank wrappers made of the ranks' output, out of mpirun's stderr."""

from __future__ import annotations

import re
from collections import OrderedDict

from mpiboot.model.record import dataclass

OWN = -2  # in place of a rank: mpirun's own words

_START = b"\x1e"
_END = b"\x1d\n"
_ESCAPED = {b"\x1be": b"\x1b", b"\x1bn": b"\n", b"\x1b0": b"\0"}
_ESCAPE = re.compile(rb"\x1b[en0]")
_LONGEST_HEADER = 160
_LONGEST_PAYLOAD = 4096
_MOST_EARLY = 4096  # pieces of one run
_MOST_EARLY_OF_ALL = 1 << 16  # of a thousand ranks, each with a window of output on the way
_MOST_RANK = 1 << 20
_MOST_RUNS = 1 << 17
_LAST_MS = 253_402_300_799_000  # of the year 9999; clocks know no more


@dataclass(frozen=True)
class Text:
    """Words of mpirun's own, or of its daemons: whatever is in no frame."""

    data: bytes


@dataclass(frozen=True)
class Record:
    """A piece of a rank's output.

    Attributes:
        rank: whose; -1 where the wrapper did not know, OWN: mpirun's own.
        stream: `o` for stdout, `e` for stderr, `h` for the name of its host, which comes first, `z`
            when nothing more comes of either.
        time_ms: when it came, since 1970, by the clock of the rank's host.
        data: what it wrote.
        run: which run of a rank of this number: a script may start several.
        serial: which piece of that run; a mark has that of the last piece before it.
    """

    rank: int
    stream: str
    time_ms: int
    data: bytes
    run: int = 0
    serial: int = 0


class Frames:
    """Tell frames from text, however the stream is cut. A broken frame is text, no byte is lost.

    Args:
        nonce: what the wrappers were given as `out`.
    """

    def __init__(self, nonce: str) -> None:
        self._mark = _START + nonce.encode() + b" "
        self._header = re.compile(
            re.escape(self._mark)
            + rb"(-?\d{1,10}) ([oehz]) (\d{1,15}) (\d{1,12}) (\d{1,15}) (\d{1,4})\x1f"
        )
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[Text | Record]:
        """Return what is complete by now, in its order; the beginning of a frame is kept."""
        self._buffer += chunk
        return self._cut(last=False)

    def end(self) -> list[Text | Record]:
        """Return what was kept, after the last chunk."""
        return self._cut(last=True)

    def _cut(self, *, last: bool) -> list[Text | Record]:
        found: list[Text | Record] = []
        text_at = at = 0
        while (at := self._buffer.find(_START, at)) >= 0:
            record, end = self._frame(at)
            if record is not None:
                found += self._text(text_at, at)
                found.append(record)
                text_at = at = end
            elif end > len(self._buffer) and not last:
                break
            else:
                at += 1
        kept_at = at if at >= 0 else len(self._buffer)
        found += self._text(text_at, kept_at)
        del self._buffer[:kept_at]
        return found

    def _frame(self, at: int) -> tuple[Record | None, int]:
        """Return the frame that begins here, and its end; None with an end beyond what is there yet.

        None with an end within it: this is no frame.
        """
        header = self._header.match(self._buffer, at)
        if header is None:
            rest = bytes(self._buffer[at : at + _LONGEST_HEADER])
            begun = self._mark.startswith(rest[: len(self._mark)]) and b"\x1f" not in rest
            return None, at + (_LONGEST_HEADER if begun else 0)
        rank, stream, run, serial, time_ms, size = header.groups()
        end = header.end() + int(size)
        mark = self._buffer[end : end + len(_END)]
        meant = int(rank) <= _MOST_RANK and int(time_ms) <= _LAST_MS
        if not meant or int(size) > _LONGEST_PAYLOAD or not _END.startswith(mark):
            return None, at
        if len(mark) < len(_END):
            return None, len(self._buffer) + 1
        data = _ESCAPE.sub(
            lambda found: _ESCAPED[found.group()], bytes(self._buffer[header.end() : end])
        )
        record = Record(
            int(rank), stream.decode(), int(time_ms), data, run=int(run), serial=int(serial)
        )
        return record, end + len(_END)

    def _text(self, start: int, end: int) -> list[Text | Record]:
        return [Text(bytes(self._buffer[start:end]))] if end > start else []


class Order:
    """Put pieces in their order: some come twice, for they may get lost and are sent again.

    Attributes:
        waiting: pieces that are kept until those before them come.
    """

    def __init__(self) -> None:
        self._next: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._early: dict[tuple[int, int], dict[int, Record]] = {}
        self.waiting = 0

    def add(self, record: Record) -> list[Record]:
        """Return the pieces whose turn it is now."""
        key = record.rank, record.run
        if record.rank < 0:
            return [record]  # nobody knows whose it is: it has no order
        due = self._make_room(key)
        early = self._early.setdefault(key, {})
        before = len(early)
        if record.serial >= self._next.get(key, 1):
            early[record.serial] = record
        while (serial := self._next.get(key, 1)) in early:
            due.append(early.pop(serial))
            self._next[key] = serial + 1
        self.waiting += len(early) - before
        if len(early) > _MOST_EARLY:  # what is missing will not come any more
            due += self._give_up(key)
        if not early:
            del self._early[key]
        return due

    def _make_room(self, key: tuple[int, int]) -> list[Record]:
        """Give up what waits where it is more than any job has; forget the run heard least lately."""
        due: list[Record] = []
        if self.waiting > _MOST_EARLY_OF_ALL:
            due = self.end()
        if key in self._next:
            self._next.move_to_end(key)
        while len(self._next) > _MOST_RUNS - (key not in self._next):
            self._next.popitem(last=False)
        return due

    @property
    def runs(self) -> int:
        """How many runs are known."""
        return len(self._next)

    def count(self, mark: Record) -> int:
        """Return how many pieces of a mark's run have come without a gap."""
        return self._next.get((mark.rank, mark.run), 1) - 1

    def end(self) -> list[Record]:
        """Return what waited in vain for the pieces before it."""
        due = [record for key in self._early for record in self._give_up(key)]
        self._early.clear()
        return due

    def _give_up(self, key: tuple[int, int]) -> list[Record]:
        early = self._early[key]
        found = [early[serial] for serial in sorted(early)]
        if found:
            self._next[key] = found[-1].serial + 1
        self.waiting -= len(early)
        early.clear()
        return found
