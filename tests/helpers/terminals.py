"""A terminal as a program sees it: a pty whose other end is an emulator that tells what is on its screen."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import threading
from typing import Any

import pyte


def screen_of(written: str, columns: int = 80, lines: int = 24) -> list[str]:
    """Return the lines of a screen after a program has written this, without what is empty below."""
    screen = pyte.Screen(columns, lines)
    pyte.Stream(screen).feed(written)
    return rows(screen)


def rows(screen: Any) -> list[str]:
    """Return the lines of a screen, without what is empty below."""
    return "\n".join(line.rstrip() for line in screen.display).rstrip("\n").split("\n")


class Terminal:
    """A pty with an emulator behind it; `slave` is what a program gets as its streams.

    Args:
        columns: width.
        lines: height.
    """

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        self.master, self.slave = os.openpty()
        self._size = (columns, lines)
        self._tell_size()
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self.written = b""
        self.seen: list[list[str]] = []  # the screen after each piece that was written
        self._ending, self._end = os.pipe()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _tell_size(self) -> None:
        columns, lines = self._size
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self.master, self._ending], [], [])
            if self._ending in ready:
                return
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            with self._lock:
                self.written += data
                self._stream.feed(data)
                self.seen.append(rows(self._screen))

    @property
    def rows(self) -> list[str]:
        """What stands on the screen now."""
        with self._lock:
            return rows(self._screen)

    @property
    def text(self) -> str:
        """The same as one text."""
        return "\n".join(self.rows)

    def resize(self, columns: int, lines: int) -> None:
        """Give the window another size, as its user does; the kernel tells the program."""
        with self._lock:
            self._size = (columns, lines)
            self._screen.resize(lines, columns)
        self._tell_size()

    def type(self, keys: bytes) -> None:
        """Type something, as a user does."""
        os.write(self.master, keys)

    def close(self) -> None:
        """Let go of both ends, once nobody reads any more: their numbers are soon another's."""
        os.close(self._end)
        self._reader.join()
        for descriptor in (self.slave, self.master, self._ending):
            os.close(descriptor)
