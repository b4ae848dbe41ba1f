"""Tell this container's agent what becomes of the rank."""

from __future__ import annotations

import _socket
import os
import time

from mpiboot.link.wrap import compact
from mpiboot.link.wrap.errors import CannotRunError
from mpiboot.link.wrap.ready import wait

_VERSION = 2  # of the link's messages
_PATIENCE_S = 1.0
_AGAIN_S = 0.01


class Report:
    """A connection to the agent, open as long as the rank lives; it may be absent, dead or hung.

    Args:
        path: the agent's unix socket; empty where there is none.
        rank: of whom; -1 where that is not known.
        size: of the job; -1 where that is not known.
    """

    def __init__(self, path: bytes, rank: int, size: int) -> None:
        self.rank = rank
        self._size = size
        self._path = path
        self._socket: _socket.socket | None = None
        self._heard = b""
        self._stay_until = 0.0

    def started(self, pid: int, err: int) -> None:
        """Tell that the program runs, and from which descriptor of ours its stderr is read; -1: none."""
        place = {"wrapper": os.getpid(), "err": err} if err >= 0 else {}
        self._tell({"size": self._size, "pid": pid, **place, "event": "started"})

    def unheard(self) -> None:
        """Tell that the program's stderr goes nowhere any more."""
        self._tell({"event": "unheard"})

    def shown(self, patience_s: float) -> int | None:
        """Wait for the number of pieces of our output that the launcher has shown.

        Returns:
            None when no word comes in time, -1 when nobody is there to send one.
        """
        deadline = time.monotonic() + patience_s
        while (message := self._hear(deadline)) is not None:
            count = message.get("count")
            if isinstance(count, int):
                return count
            self._heed(message)
        return -1 if self._socket is None else None

    def ended(self, code: int, number: int, said: str) -> None:
        """Tell how the program ended: by a signal, or else with an exit code; and its last words."""
        how: dict[str, int | str] = {"signal": number} if number else {"code": code}
        words: dict[str, int | str] = {"stderr": said} if said else {}
        self._tell({"event": "ended", **how, **words})

    def stay(self) -> None:
        """Stay as long as the agent wants us to: mpirun ends the other ranks once one has gone."""
        while (message := self._hear(self._stay_until)) is not None:
            self._heed(message)

    def _heed(self, message: dict[str, object]) -> None:
        """Take the order to stay, or to go."""
        until_ms = message.get("until_ms")  # on the clock of this machine
        if message.get("event") == "hold" and isinstance(until_ms, int):
            self._stay_until = until_ms / 1000
        elif message.get("event") == "go":
            self._stay_until = 0.0

    def _hear(self, deadline: float) -> dict[str, object] | None:
        """Return the next message from the agent, one that has come already in any case.

        None when none comes in time, or when nobody is there any more.
        """
        while self._socket is not None:
            line, newline, rest = self._heard.partition(b"\n")
            if newline:
                self._heard = rest
                return compact.read(line.decode(errors="replace"))
            if not wait([self._socket.fileno()], deadline - time.monotonic()):
                break
            try:
                chunk = self._socket.recv(4096)
            except OSError:
                chunk = b""
            if not chunk:
                self._socket = None
            self._heard += chunk
        return None

    def failed(self, fault: CannotRunError) -> None:
        """Tell the agent and the user why the program was not run."""
        who = f"rank {self.rank}" if self.rank >= 0 else "a program"
        line = f"mpiboot: {who} on {os.uname().nodename}: {fault}\n"
        try:
            os.write(2, line.encode(errors="surrogateescape"))
        except OSError:
            pass
        self._tell({"event": "ended", "code": fault.code, "why": fault.why, "text": str(fault)})

    def _tell(self, body: dict[str, int | str]) -> None:
        """Send one message; what the agent does not take at once is lost."""
        if self._path:
            self._socket = _connect(self._path)
            self._path = b""
        if self._socket is None:
            return
        head: dict[str, int | str] = {"v": _VERSION, "kind": "rank", "rank": self.rank}
        line = compact.write({**head, **body, "time_ms": time.time_ns() // 1_000_000})
        try:
            self._socket.send(line.encode() + b"\n")
        except OSError:
            self._socket = None


def _connect(path: bytes) -> _socket.socket | None:
    """Connect to the agent; one whose queue stays full for a second is given up."""
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    os.set_inheritable(link.fileno(), False)
    link.setblocking(False)
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            link.connect(path)
        except BlockingIOError:
            time.sleep(_AGAIN_S)
        except OSError:
            return None
        else:
            return link
    return None
