"""Watch the running program: signals, output, libraries, and its end."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # half of `signal`, without its enums
import os
import time

from mpiboot.link.wrap.libraries import Libraries, descendants
from mpiboot.link.wrap.ready import wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mpiboot.link.wrap.output import Output
    from mpiboot.link.wrap.passing import Passing
    from mpiboot.link.wrap.start import Program

_NEVER = float("inf")
_TERM_S = 2.0  # from TERM to KILL


class Watch:
    """One run of the program.

    Args:
        program: it runs already.
        output: what it writes, if that goes through us.
        family: of the MPI that started us; empty: it does not matter which one the program has.
    """

    def __init__(self, program: Program, output: Output | Passing | None, family: str) -> None:
        self._program = program
        self._output = output
        self._libraries = Libraries(family, program.pid) if family else None
        self._kill_at = _NEVER

    def run(self) -> int:
        """Return the program's wait status; all that it wrote has been sent by then."""
        if self._output is not None:
            self._output.begin()
        while True:
            sinks = self._output.sinks if self._output is not None else ()
            ready = wait(self._fds(), self._due() - time.monotonic(), sinks)
            status = self._heed() if self._program.wakeup in ready else None
            if status is not None:
                break
            if self._output is not None:
                self._output.move(ready)
            self._look()
        if self._output is not None:
            self._output.finish()
        return status

    def check(self, said: str) -> None:
        """Raise CannotRunError if the program has another MPI: the end was our doing, or its own.

        Args:
            said: its last words, if it failed.
        """
        if self._libraries is not None:
            self._libraries.check(said)

    def _fds(self) -> list[int]:
        streams = self._output.streams if self._output is not None else []
        return [self._program.wakeup, *(stream.fd for stream in streams if stream.open)]

    def _due(self) -> float:
        flush_at = self._output.flush_at if self._output is not None else _NEVER
        look_at = self._libraries.look_at if self._libraries is not None else _NEVER
        return min(self._kill_at, flush_at, look_at)

    def _heed(self) -> int | None:
        """Act on the signals that have come; return the wait status at the program's end."""
        status = None
        for number in os.read(self._program.wakeup, 4096):
            if number == _signal.SIGCHLD:
                status = self._program.ended() if status is None else status
            else:
                self._program.forward(number)
        return status

    def _look(self) -> None:
        """Look for a foreign MPI when it is time to, and end the program that has one."""
        now = time.monotonic()
        if self._libraries is not None and now >= self._libraries.look_at:
            self._libraries.look()
            if self._libraries.foreign:
                self._kill_at = now + _TERM_S
                self._end(_signal.SIGTERM)
        if now >= self._kill_at:
            self._kill_at = _NEVER
            self._end(_signal.SIGKILL)

    def _end(self, number: int) -> None:
        for pid in [self._program.pid, *descendants(self._program.pid)]:
            try:
                os.kill(pid, number)
            except OSError:
                pass  # it has just ended
