"""Keep the last words of a program, also for the case that nobody is left here to tell them."""

from __future__ import annotations

import os

LIMIT = 4096  # bytes
_CHUNK = 65536
_NONBLOCK = 2  # SPLICE_F_NONBLOCK, which `os` names from Python 3.12 on
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

    def read(self, fd: int) -> bytes:
        """Read from a pipe, and keep the end of it.

        The kernel moves it to the file first: whenever we are killed, it is either there or still in
        the pipe.

        Raises:
            BlockingIOError: nothing is there yet.
        """
        chunk = self._moved(fd) if self._usable else None
        if chunk is None:
            chunk = os.read(fd, _CHUNK)
        self._kept += chunk[-LIMIT:]
        if len(self._kept) > 2 * LIMIT:
            del self._kept[:-LIMIT]
        return chunk

    def _moved(self, fd: int) -> bytes | None:
        """Read by way of the file; None where that cannot be: it is full, or no place of ours."""
        try:
            if self._fd < 0:
                self._open()
            count = os.splice(fd, self._fd, _CHUNK, offset_dst=self._size, flags=_NONBLOCK)
        except BlockingIOError:
            raise
        except (OSError, AttributeError):  # a Python for an older C library has no such call
            self._usable = False
            return None
        chunk = os.pread(self._fd, count, self._size)
        self._size += count
        if self._size > _ROOM * LIMIT:
            self._cut((self._kept + chunk)[-LIMIT:])
        return chunk

    def _open(self) -> None:
        self._path = os.path.join(self._directory, b"said.%d" % self.pid)
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)

    def _cut(self, kept: bytes | bytearray) -> None:
        """Keep the file short."""
        self._size = os.pwrite(self._fd, kept, 0)
        os.ftruncate(self._fd, self._size)

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
