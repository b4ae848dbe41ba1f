"""Take the job's output apart: whose it is, where it goes, and what was mpirun's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from mpiboot.plan.frames import OWN, Frames, Order, Record, Text
from mpiboot.plan.lines import Lines
from mpiboot.report.rankfiles import RankFiles
from mpiboot.report.shown import Shown


class Own:
    """One of mpirun's streams, as far as nothing in it is framed.

    Args:
        shown: where it goes.
        stream: `o` or `e`.
    """

    def __init__(self, shown: Shown, stream: str) -> None:
        self._shown = shown
        self._stream = stream
        self._lines = Lines(live=False)

    @property
    def due(self) -> float:
        """When half a line has waited long enough."""
        return self._lines.due

    def feed(self, chunk: bytes) -> bytes:
        """Show what mpirun said; return it."""
        self._shown.show(self.cut(chunk))
        return chunk

    def late(self) -> None:
        """Show half a line that has waited long enough."""
        self._shown.show(self._lines.late(time.monotonic()))

    def end(self) -> bytes:
        """Show what is left; behind the end of stderr nothing follows that has to be told apart."""
        self._shown.show(self._lines.end())
        if self._stream == "e":
            self._shown.end()
        return b""

    def cut(self, chunk: bytes) -> list[Record]:
        """Return what is to be shown of it: text as it comes, entries when lines are whole."""
        record = Record(OWN, self._stream, time.time_ns() // 1_000_000, chunk)
        return self._lines.add(record, time.monotonic()) if self._shown.json else [record]


class Output:
    """mpirun's stderr, in which the ranks' output is framed.

    Args:
        nonce: the mark of the frames.
        shown: where lines go.
        files: where each rank's output goes beside that; None: nowhere.
        on_mark: is told, where a rank asks for it, how many of its pieces have come.
    """

    def __init__(
        self,
        nonce: str,
        shown: Shown,
        files: RankFiles | None,
        on_mark: Callable[[int, int], None],
    ) -> None:
        self._frames = Frames(nonce)
        self._order = Order()
        self._own = Own(shown, "e")
        self._lines = Lines(live=not shown.json)
        self._shown = shown
        self._files = files
        self._on_mark = on_mark

    @property
    def due(self) -> float:
        """When half a line has waited long enough."""
        return min(self._lines.due, self._own.due)

    def feed(self, chunk: bytes) -> bytes:
        """Show what the ranks wrote, and all else; return what was mpirun's own."""
        return self._take(self._frames.feed(chunk))

    def late(self) -> None:
        """Show halves of lines that have waited long enough."""
        self._shown.show(self._lines.late(time.monotonic()))
        self._own.late()

    def end(self) -> bytes:
        """Show what is left, half lines too; return what was mpirun's own."""
        rest = self._take(self._frames.end())
        self._shown.show([*self._accept(self._order.end()), *self._lines.end()])
        if self._files is not None:
            self._files.close()
        self._own.end()
        return rest

    def _take(self, found: list[Text | Record]) -> bytes:
        own = bytearray()
        due: list[Record] = []
        marks: list[tuple[int, int]] = []
        for piece in found:
            if isinstance(piece, Text):
                own += piece.data
                due += self._own.cut(piece.data)
            elif piece.stream == "z":
                marks.append((piece.rank, self._order.count(piece)))
            else:
                due += self._accept(self._order.add(piece))
        self._shown.show(due)
        for rank, count in marks:  # what they count has been shown
            self._on_mark(rank, count)
        return bytes(own)

    def _accept(self, pieces: Iterable[Record]) -> list[Record]:
        """Keep pieces in their files; return what is to be shown now."""
        due: list[Record] = []
        now = time.monotonic()
        for piece in pieces:
            if piece.stream == "h":
                self._shown.place(piece)
                continue
            if self._files is not None:
                self._files.write(piece)
            if self._shown.wants(piece):
                due += self._lines.add(piece, now)
        return due
