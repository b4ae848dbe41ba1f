"""Keep the last words of a program, also for the case that nobody is left here to tell them."""

from __future__ import annotations

import os

LIMIT = 4096  # bytes
_ROOM = 16  # the file may grow to so many limits before it is cut


class Tail:
    """The last bytes of the program's stderr, in memory and in a file beside the agent's socket.

    MPICH ends an aborted job with SIGKILL to wrappers, too: then the agent reads the file.

    Attributes:
        wanted: whether there is an agent who wants to know.
        pid: of the program; it names the file.

    Args:
        link: path of the agent's socket; empty where there is none.
    """

    def __init__(self, link: bytes) -> None:
        self.wanted = bool(link)
        self.pid = 0
        self._directory = os.path.dirname(link)
        self._path = b""
        self._kept = bytearray()
        self._fd = -1
        self._size = 0
        self._usable = self.wanted

    def add(self, chunk: bytes) -> None:
        """Take what the program has written."""
        self._kept += chunk[-LIMIT:]
        if len(self._kept) > 2 * LIMIT:
            del self._kept[:-LIMIT]
        if self._usable:
            try:
                self._write(chunk[-LIMIT:])
            except OSError:
                self._usable = (
                    False  # full, or no place of ours: the words are kept here all the same
                )

    def _write(self, chunk: bytes) -> None:
        if self._fd < 0:
            self._path = os.path.join(self._directory, b"said.%d" % self.pid)
            flags = (
                os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            )
            self._fd = os.open(self._path, flags, 0o600)
        if self._size > _ROOM * LIMIT:
            os.ftruncate(self._fd, 0)
            self._size = 0
            chunk = bytes(self._kept[-LIMIT:])
        self._size += os.write(self._fd, chunk)

    def text(self) -> str:
        """Return the last words; what is no UTF-8 is replaced."""
        return self._kept[-LIMIT:].decode(errors="replace")

    def close(self) -> None:
        """Remove the file: from now on we tell ourselves."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            try:
                os.unlink(self._path)
            except OSError:
                pass
