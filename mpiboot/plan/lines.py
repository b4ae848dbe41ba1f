"""Cut what ranks write into what is fit to be shown: whole lines, and halves that take too long."""

from __future__ import annotations

from mpiboot.model.record import replace
from mpiboot.plan.frames import Record

HOLD_S = 1.0  # half a line waits so long for its rest
LONGEST_LINE = 1 << 20
_MOST_PARTS = 64 << 20  # bytes of lines that have not ended
_NEVER = float("inf")
_TO_COME = ((0xF0, 0xF4, 4), (0xE0, 0xEF, 3), (0xC2, 0xDF, 2))  # bytes of a character, by its first


class _Part:
    """The beginning of a line, and when it came."""

    def __init__(self, since: float, time_ms: int) -> None:
        self.since = since
        self.time_ms = time_ms
        self.data = bytearray()


class Lines:
    """Put the pieces of each rank's streams together to whole lines.

    What has no newline waits for HOLD_S, up to 1 MiB of it, and is then given out as it is: a
    prompt is to be seen. The two halves of a character are not parted.

    Attributes:
        kept: bytes of lines that have not ended.

    Args:
        live: whether a line with a carriage return in it, a progress bar, does not wait.
    """

    def __init__(self, *, live: bool = True) -> None:
        self._parts: dict[tuple[int, str], _Part] = {}  # in the order in which they began
        self._bars: set[tuple[int, str]] = set()
        self._live = live
        self.kept = 0

    def add(self, record: Record, now: float) -> list[Record]:
        """Return what is to be shown now; a record's lines have the time at which the first began.

        Args:
            record: a piece of a rank's output.
            now: seconds on the clock of `due`.
        """
        key = record.rank, record.stream
        found = self._whole(key, record)
        rest = record.data[record.data.rfind(b"\n") + 1 :]
        if rest:
            part = self._parts.get(key)
            if part is None:
                part = self._parts[key] = _Part(now, record.time_ms)
            part.data += rest
            self.kept += len(rest)
            bar = self._live and (key in self._bars or b"\r" in rest)
            if bar:
                self._bars.add(key)
            if bar or len(part.data) > LONGEST_LINE:
                found += self._give(key, now)
        if self.kept > _MOST_PARTS:
            found += self.end()
        return found

    @property
    def due(self) -> float:
        """When `late` has something to give out though nothing more comes; infinite: never."""
        for part in self._parts.values():
            return part.since + HOLD_S
        return _NEVER

    def late(self, now: float) -> list[Record]:
        """Return the halves of lines that have waited long enough."""
        found = []
        while self.due <= now:
            found += self._give(next(iter(self._parts)), now)
        return found

    def end(self) -> list[Record]:
        """Return the lines that were never completed."""
        left = [
            Record(rank, stream, part.time_ms, bytes(part.data))
            for (rank, stream), part in self._parts.items()
        ]
        self._parts.clear()
        self.kept = 0
        return left

    def _whole(self, key: tuple[int, str], record: Record) -> list[Record]:
        """Return the lines that end in this piece."""
        data = record.data
        end = data.rfind(b"\n") + 1
        if not end:
            return []
        self._bars.discard(key)
        part = self._parts.pop(key, None)
        if part is None:
            return [record if end == len(data) else replace(record, data=data[:end])]
        self.kept -= len(part.data)
        first = data.find(b"\n") + 1
        begun = replace(record, time_ms=part.time_ms, data=bytes(part.data) + data[:first])
        return [begun] if first == end else [begun, replace(record, data=data[first:end])]

    def _give(self, key: tuple[int, str], now: float) -> list[Record]:
        """Give out half a line; half a character at its end waits on, once."""
        part = self._parts.pop(key)
        self.kept -= len(part.data)
        back = _incomplete(part.data)
        if not 0 < back < len(part.data):
            back = 0
        shown = bytes(part.data[: len(part.data) - back])
        if back:
            left = self._parts[key] = _Part(now, part.time_ms)
            left.data += part.data[-back:]
            self.kept += back
        return [Record(*key, part.time_ms, shown)]


def _incomplete(data: bytearray) -> int:
    """Count the bytes at the end that may be the beginning of a character of UTF-8."""
    for back, byte in enumerate(reversed(data[-3:]), start=1):
        if byte & 0xC0 != 0x80:
            size = next((n for low, high, n in _TO_COME if low <= byte <= high), 1)
            return back if size > back else 0
    return 0
