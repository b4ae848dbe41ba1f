"""An interactive shell on a terminal, typed into as a person does."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tests.helpers.eventually import eventually

# What moves a cursor or clears a part of the screen: not what a person reads.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[=>]|\r|\x07")
PROMPT = "ready> "


class Terminal:
    """One shell. `screen` is all that it has written, less the control sequences."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self._pid = pid
        self._descriptor = descriptor
        self._written = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def screen(self) -> str:
        return _CONTROL.sub("", self._written.decode(errors="replace"))

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._descriptor, keys.encode())

    def await_text(self, text: str, timeout: float = 20.0) -> str:
        """Wait until the screen has a text; return the screen."""

        def seen() -> str:
            assert text in self.screen, self.screen[-3000:]
            return self.screen

        return eventually(seen, timeout)

    def clear(self) -> None:
        """Forget what was written until now."""
        self._written = b""

    def close(self) -> None:
        """End the shell."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._reader.join(10)
        os.close(self._descriptor)

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._descriptor, 65536)
            except OSError:  # EIO: nobody has the terminal open any more
                return
            if not piece:
                return
            self._written += piece


@contextmanager
def terminal(argv: Sequence[str], env: Mapping[str, str]) -> Iterator[Terminal]:
    """Give a shell on a terminal of 120 columns."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], list(argv), dict(env))  # noqa: S606 - the child of the fork
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 120, 0, 0))
    made = Terminal(pid, descriptor)
    try:
        yield made
    finally:
        made.close()
