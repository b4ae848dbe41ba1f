"""The ranks' output as people want it: whole lines with an owner and a time, and a file for each rank."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

from mpiboot.errors import ConfigError
from mpiboot.plan.frames import Frames, Lines, Order, Record, Text
from mpiboot.runtime.streams import Sink, write

_OPEN = 64  # files that are open at a time: a job may have more ranks than we may have descriptors
_TARGETS = {"o": 1, "e": 2}
_SUFFIXES = {"o": "out", "e": "err"}


class Output:
    """Takes mpirun's stderr, in which the ranks' output is framed, apart.

    Args:
        nonce: the mark of the frames.
        tag: whether each line gets its rank.
        stamp: whether each line gets its time.
        directory: where each rank's output goes beside the screen; empty: nowhere.
        log: gets what the screen gets; None: nothing does.
        recent: gets what stderr gets.
        on_mark: is told, where a rank asks for it, how many of its pieces have come.
        append: whether the files go on: an earlier attempt has begun them.

    Raises:
        ConfigError: the directory cannot be written.
    """

    def __init__(
        self,
        nonce: str,
        *,
        tag: bool,
        stamp: bool,
        directory: str,
        log: Sink | None,
        recent: Sink,
        on_mark: Callable[[int, int], None],
        append: bool = False,
    ) -> None:
        self._frames = Frames(nonce)
        self._order = Order()
        self._lines = Lines()
        self._tag = tag
        self._stamp = stamp
        self._directory = Path(directory) if directory else None
        self._log = log
        self._recent = recent
        self._on_mark = on_mark
        self._append = append
        self._files: OrderedDict[Path, IO[bytes]] = OrderedDict()
        self._begun: set[Path] = set()
        if self._directory is not None:
            try:
                self._directory.mkdir(parents=True, exist_ok=True)
                probe = self._directory / ".mpiboot"
                probe.touch()
                probe.unlink()
            except OSError as fault:
                raise ConfigError(
                    f"cannot write into the output directory {directory}: {fault.strerror}",
                    hint="check --output-dir",
                ) from fault

    def feed(self, chunk: bytes) -> bytes:
        """Show what the ranks wrote; return what was mpirun's own."""
        return self._take(self._frames.feed(chunk))

    def end(self) -> bytes:
        """Show what is left, half lines too; return what was mpirun's own."""
        rest = self._take(self._frames.end())
        for piece in self._order.end():
            self._accept(piece)
        for line in self._lines.end():
            self._show(line)
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()
        return rest

    def _take(self, found: list[Text | Record]) -> bytes:
        own = bytearray()
        for piece in found:
            if isinstance(piece, Text):
                own += piece.data
                continue
            if piece.stream == "z":
                self._on_mark(piece.rank, self._order.count(piece))
                continue
            for one in self._order.add(piece):
                self._accept(one)
        return bytes(own)

    def _accept(self, piece: Record) -> None:
        if self._directory is not None:
            self._keep(self._directory, piece)
        for line in self._lines.add(piece):
            self._show(line)

    def _show(self, line: Record) -> None:
        text = line.data
        if self._tag:
            text = f"[{line.rank}] ".encode() + text
        if self._stamp:
            text = _stamp(line.time_ms).encode() + b" " + text
        if not text.endswith(b"\n") and (self._tag or self._stamp):
            text += b"\n"
        if self._log is not None:
            with contextlib.suppress(OSError, ValueError):
                self._log.write(text)
        if line.stream == "e":
            self._recent.write(text)
        with contextlib.suppress(OSError):  # nobody reads our output any more; the job goes on
            write(_TARGETS[line.stream], text)

    def _keep(self, directory: Path, piece: Record) -> None:
        """Append to the rank's own file; one that cannot be written any more loses its text only."""
        path = directory / f"rank.{piece.rank}.{_SUFFIXES[piece.stream]}"
        with contextlib.suppress(OSError):
            if path not in self._files:
                mode = "ab" if self._append or path in self._begun else "wb"
                self._begun.add(path)
                self._files[path] = path.open(mode, buffering=0)
                if len(self._files) > _OPEN:
                    self._files.popitem(last=False)[1].close()
            self._files[path].write(piece.data)


def _stamp(time_ms: int) -> str:
    at = datetime.fromtimestamp(time_ms // 1000, tz=timezone.utc)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}Z"
