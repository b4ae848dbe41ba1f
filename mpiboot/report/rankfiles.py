"""A file for each stream of each rank, with bounds on their number, their size and their faults."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import IO

from mpiboot.errors import ConfigError
from mpiboot.plan.frames import Record
from mpiboot.plan.rotation import portion

_OPEN = 64  # files that are open at a time: a job may have more ranks than we may have descriptors
_MIB = 1 << 20
_SUFFIXES = {"o": "out", "e": "err"}


class _File:
    """One file that grows.

    Attributes:
        path: of the one that grows; full ones have a number behind it, the youngest 1.
        size: its bytes.
        whole: whether it ends with a newline, or is empty.
        torn: whether something is missing behind its end.
        handle: it is open; None: it is not.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.whole = True
        self.torn = False
        self.handle: IO[bytes] | None = None

    def begin(self, *, append: bool) -> None:
        """Open it for the first time; what an earlier job left there goes, unless this is to go on."""
        if not append:
            number = 1
            with contextlib.suppress(OSError):
                while True:
                    _numbered(self.path, number).unlink()
                    number += 1
            self.handle = self.path.open("wb", buffering=0)
        self.open()

    def open(self) -> IO[bytes]:
        """Open it to go on with it, if it is not open."""
        if self.handle is None:
            self.handle = self.path.open("ab", buffering=0)
            self.size = self.handle.tell()
        return self.handle

    def append(self, data: bytes) -> None:
        """Write all of it.

        Raises:
            OSError: not all of it could be written; the file then has a part of a line at its end.
        """
        handle = self.open()
        if self.torn and not self.whole:
            data = b"\n" + data
        self.torn = False
        while data:
            count = handle.write(data)
            self.size += count
            self.whole = data[count - 1 : count] == b"\n"
            data = data[count:]

    def turn(self, keep: int) -> None:
        """Begin a new one; the full one stays as number 1, and all others grow older.

        Raises:
            OSError: it cannot be renamed, or no new one can be made.
        """
        self.close()
        for number in range(keep, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                _numbered(self.path, number - 1).replace(_numbered(self.path, number))
        self.handle = self.path.open("wb", buffering=0)
        self.size, self.whole = 0, True

    def close(self) -> None:
        """Close it; it can be opened again."""
        if self.handle is not None:
            with contextlib.suppress(OSError):
                self.handle.close()
        self.handle = None


class RankFiles:
    """What each rank wrote, in files of its own.

    A file that cannot be written loses its text; the job goes on, and one line says so.

    Args:
        directory: where they are; it is made.
        most_mb: MiB at which a file is full; 0: none ever is.
        keep: how many full files of each stay.
        append: whether the files go on: an earlier attempt has begun them.
        complain: is told of the first file that could not be written, and why.

    Raises:
        ConfigError: the directory cannot be written.
    """

    def __init__(
        self,
        directory: str,
        *,
        most_mb: int,
        keep: int,
        append: bool,
        complain: Callable[[Path, OSError], None],
    ) -> None:
        self._directory = Path(directory)
        self._most = most_mb * _MIB
        self._keep = keep
        self._append = append
        self._complain: Callable[[Path, OSError], None] | None = complain
        self._files: dict[tuple[int, str], _File] = {}
        self._open: OrderedDict[tuple[int, str], _File] = OrderedDict()
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

    def write(self, record: Record) -> None:
        """Append a piece of a rank's output to its file."""
        key = record.rank, record.stream
        file = self._files.get(key)
        new = file is None
        if file is None:
            file = _File(self._directory / f"rank.{record.rank}.{_SUFFIXES[record.stream]}")
        try:
            if new:
                file.begin(append=self._append)
                self._files[key] = file
            self._write(key, file, record.data)
        except OSError as fault:
            self._lose(key, file, fault)

    def close(self) -> None:
        """Close all files."""
        for file in self._open.values():
            file.close()
        self._open.clear()

    def _write(self, key: tuple[int, str], file: _File, data: bytes) -> None:
        self._open[key] = file
        self._open.move_to_end(key)
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)[1].close()
        while data:
            count, full = portion(file.size, data, self._most, whole=file.whole)
            file.append(data[:count])
            data = data[count:]
            if full:
                file.turn(self._keep)

    def _lose(self, key: tuple[int, str], file: _File, fault: OSError) -> None:
        """Go on without the rest of this piece; say so once."""
        file.torn = True
        file.close()
        self._open.pop(key, None)
        if self._complain is not None:
            self._complain(file.path, fault)
            self._complain = None


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path
