"""The last output of a job, in a ring that holds so many bytes and no more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import IO


class Kept:
    """Keeps the end of what several threads write.

    Args:
        limit: bytes to keep, at least 1.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._data = bytearray()
        self._seen = 0

    def write(self, data: bytes) -> None:
        """Append what was shown."""
        with self._lock:
            self._seen += len(data)
            if len(data) >= self.limit:
                self._data[:] = data[-self.limit :]
                return
            self._data += data
            # Shifting is not free: at most once for each time that the ring was filled anew.
            if len(self._data) >= 2 * self.limit:
                del self._data[: -self.limit]

    def to_json(self) -> dict[str, object]:
        """Return the text with the number of bytes that there were in all; replaces what is no UTF-8."""
        with self._lock:
            data, seen = bytes(self._data[-self.limit :]), self._seen
        return {
            "bytes_seen": seen,
            "bytes_kept": len(data),
            "text": data.decode(errors="replace"),
        }


class Written:
    """A copy of the output, in a file, in the ring, or in both.

    Args:
        file: is closed with it; None for none.
        kept: the ring; None for none.
        complain: is told once why the file could not be written.
    """

    def __init__(
        self,
        file: IO[bytes] | None,
        kept: Kept | None,
        complain: Callable[[OSError], None] | None = None,
    ) -> None:
        self._file = file
        self._kept = kept
        self._complain = complain

    def write(self, data: bytes) -> None:
        """Write to both; a file that is full does not cost the ring its piece.

        Raises:
            OSError: the file cannot be written.
        """
        if self._kept is not None:
            self._kept.write(data)
        try:
            self._write(data)
        except OSError as fault:
            complain, self._complain = self._complain, None
            if complain is None:
                raise
            complain(fault)

    def _write(self, data: bytes) -> None:
        """Write all of it to the file: a disk that has just become full takes a part."""
        while data and self._file is not None:
            data = data[self._file.write(data) :]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
