"""Send the program's output as frames, each of which tells rank, stream and time."""

from __future__ import annotations

import os
import termios
import time

from mpiboot.link.wrap.pipe import LARGEST, Pipe
from mpiboot.link.wrap.ready import wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mpiboot.link.wrap.report import Report
    from mpiboot.link.wrap.tail import Tail

_CHUNK = 65536
_LINE_S = 0.1  # half a line waits so long for its rest
_HELD_S = 0.5  # and so long if it grows all the time
_GRANDCHILDREN_S = 0.2
_READ_S = 1.0
_LAST_BYTES = 1 << 20  # what pipe or terminal can hold when the program ends, and more
_HEADER = 128
_TRIES = 10
_UNHEARD_S = 0.5  # where nobody confirms anything, mpirun gets a moment
_ANSWER_S = 0.5
_LAST_ANSWER_S = 5.0
PAYLOAD = LARGEST - _HEADER
_CUT = PAYLOAD * 31 // 32  # leaves room for escapes


def frame(
    nonce: bytes, rank: int, stream: bytes, place: tuple[int, int, int], data: bytes
) -> bytes:
    r"""Wrap a piece of output: `RS nonce rank stream run serial time length US payload GS LF`.

    The three separators and the nonce together are in no text of mpirun's own. A frame is one line:
    Open MPI 5 passes output on line by line, and lines of other ranks may come between two of them.

    Args:
        nonce: of the job.
        rank: whose output it is.
        stream: `o`, `e`, `h` for the name of this host, or `z` for a mark, whose serial is that of the
            last piece before it.
        place: which run of the rank, which piece of it, and when: milliseconds since 1970.
        data: what was written.
    """
    text = _escaped(data)
    return b"\x1e%b %d %b %d %d %d %d\x1f%b\x1d\n" % (nonce, rank, stream, *place, len(text), text)


def _escaped(payload: bytes) -> bytes:
    """Take newlines out, and NULs, which mpirun adds where it likes."""
    return payload.replace(b"\x1b", b"\x1be").replace(b"\n", b"\x1bn").replace(b"\0", b"\x1b0")


def _fitting(payload: bytes) -> list[bytes]:
    """Cut a payload that grows too long when it is escaped."""
    if len(_escaped(payload)) <= PAYLOAD:
        return [payload]
    middle = len(payload) // 2
    return _fitting(payload[:middle]) + _fitting(payload[middle:])


class Stream:
    """One of the program's streams: what has been read and not been sent yet.

    Args:
        fd: where it is read.
        name: `o` or `e`.
    """

    def __init__(self, fd: int, name: bytes) -> None:
        self.fd = fd
        self.name = name
        self.held = bytearray()
        self.since = self.touched = 0.0  # when the first and the last of it came
        self.time_ms = 0
        self.open = True

    def read(self, tail: Tail | None) -> int:
        """Take what is there; return how much it was.

        Args:
            tail: reads it, and keeps its end; None: nobody needs to.
        """
        try:
            chunk = tail.read(self.fd) if tail is not None else os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return 0
        except OSError:  # a terminal that nobody writes to any more
            chunk = b""
        self.open = bool(chunk)
        self.touched = time.monotonic()
        if not self.held:
            self.since = self.touched
            self.time_ms = time.time_ns() // 1_000_000
        self.held += chunk
        return len(chunk)

    @property
    def flush_at(self) -> float:
        """When half a line has waited long enough; infinite when there is none."""
        if not self.held:
            return float("inf")
        held_s = _LINE_S if b"\r" in self.held else _HELD_S  # a progress bar is to be seen moving
        return min(self.touched + _LINE_S, self.since + held_s)

    def take(self, *, everything: bool) -> list[bytes]:
        """Cut off payloads: whole lines together, and the rest when it is long or is wanted."""
        payloads = []
        while self.held:
            cut = self.held.rfind(b"\n", 0, _CUT) + 1
            if not cut and (everything or len(self.held) >= _CUT):
                cut = min(len(self.held), _CUT)
            if not cut:
                break
            payloads.append(bytes(self.held[:cut]))
            del self.held[:cut]
            self.since = self.touched
        return payloads


class Output:
    """The program's stdout and stderr, which end in the wrapper.

    Attributes:
        ends: what the program gets.
        err: where its stderr is read.
        sinks: nothing: it writes when it has something.

    Args:
        nonce: what marks this job's frames.
        report: the way to the launcher, and whose they are.
        window: bytes that may be lost on their way and are sent again; 0: none ever are.
        tail: keeps the end of stderr.
        named: whether the first piece is the name of this host.
    """

    sinks = ()

    def __init__(
        self, nonce: str, report: Report, window: int, tail: Tail, *, named: bool = False
    ) -> None:
        self._report = report
        self._shown = report.shown
        self._tail = tail
        self._window = window
        self._run = time.time_ns() // 1_000_000
        self._serial = 0
        self._unconfirmed: list[bytes] = []
        self._nonce = nonce.encode()
        self._named = named
        self._rank = report.rank
        self._pipe = Pipe(2)
        self._pipe.narrow()
        # Open MPI gives ranks a terminal, and C programs write line by line because of it.
        out, out_end = _terminal() if os.isatty(1) else os.pipe2(os.O_CLOEXEC)
        err, err_end = os.pipe2(os.O_CLOEXEC)
        self.ends = out_end, err_end
        self.err = err
        self.streams = [Stream(out, b"o"), Stream(err, b"e")]

    def begin(self) -> None:
        """Leave the program's ends to the program."""
        for fd in self.ends:
            os.close(fd)
        for stream in self.streams:
            os.set_blocking(stream.fd, False)
        if self._named:
            self._put(b"h", time.time_ns() // 1_000_000, os.uname().nodename.encode())

    @property
    def flush_at(self) -> float:
        """When something has to be sent though no more of it has come."""
        return min(stream.flush_at for stream in self.streams)

    def move(self, fds: list[int]) -> int:
        """Read from the descriptors that are ready and send what is due; return what was read."""
        count = 0
        for stream in self.streams:
            if stream.fd in fds:
                count += stream.read(self._tail if stream.name == b"e" else None)
            late = stream.flush_at <= time.monotonic()
            self._send(stream, everything=late or not stream.open)
        return count

    def _send(self, stream: Stream, *, everything: bool) -> None:
        for payload in stream.take(everything=everything):
            for part in _fitting(payload):
                if not self._put(stream.name, stream.time_ms, part):
                    return

    def _put(self, stream: bytes, time_ms: int, data: bytes) -> bool:
        """Send a piece; tell whether anybody reads."""
        self._serial += 1
        place = self._run, self._serial, time_ms
        piece = frame(self._nonce, self._rank, stream, place, data)
        try:
            self._pipe.write(piece)
            self._keep(piece)
        except OSError:
            self._give_up()
            return False
        return True

    def _keep(self, piece: bytes) -> None:
        """Keep what may get lost until the launcher has it; hold on when that is much."""
        if self._window:
            self._unconfirmed.append(piece)
            if len(self._unconfirmed) * LARGEST >= self._window:
                self._confirm()

    def _confirm(self) -> None:
        """Ask what has come, and send again what has not."""
        for _ in range(_TRIES):
            self._mark()
            count = self._shown(_ANSWER_S)
            if count == self._serial:
                break
            if count == -1:
                self._window = 0
                time.sleep(_UNHEARD_S)
                break
            first = self._serial - len(self._unconfirmed)
            lost = self._unconfirmed[max(0, (first if count is None else count) - first) :]
            for piece in lost:
                self._pipe.write(piece)
        else:
            self._window = 0  # nobody answers: do as with any other mpirun
        self._unconfirmed.clear()

    def _give_up(self) -> None:
        """Nobody reads: let the program find out, as it would have without us."""
        for stream in self.streams:
            stream.held.clear()
            if stream.open:
                stream.open = False
                os.close(stream.fd)
        self._report.unheard()

    def finish(self) -> None:
        """Send what is left when the program has ended, and that nothing more comes.

        What it left running may write for a moment longer; what comes later than that is lost.
        """
        deadline = time.monotonic() + _GRANDCHILDREN_S
        left = _LAST_BYTES
        while fds := [stream.fd for stream in self.streams if stream.open]:
            wait_s = deadline - time.monotonic()
            ready = wait(fds, wait_s)
            if wait_s <= 0 and (left <= 0 or not ready):
                break
            left -= self.move(ready)
        for stream in self.streams:
            self._send(stream, everything=True)
        self._pipe.drain(_READ_S)
        try:
            if self._window:
                self._confirm()
            else:
                self._mark()
                self._shown(_LAST_ANSWER_S)
        except OSError:
            pass  # nobody reads

    def _mark(self) -> None:
        """Ask the launcher to tell how many pieces it has."""
        place = self._run, self._serial, time.time_ns() // 1_000_000
        self._pipe.write(frame(self._nonce, self._rank, b"z", place, b""))


def _terminal() -> tuple[int, int]:
    """Make a terminal that changes nothing of what is written; a pipe where none can be made."""
    try:
        ours, program = os.openpty()
    except OSError:
        return os.pipe2(os.O_CLOEXEC)
    attributes = termios.tcgetattr(program)
    attributes[1] &= ~termios.OPOST
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(program, termios.TCSANOW, attributes)
    return ours, program
