"""Bytes between a channel of paramiko and three descriptors, inside the loop, and never more than fit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import paramiko

# A pipe that takes anything takes so much without making us wait; the descriptors are shared with
# other programs, so that they cannot be made non-blocking.
_PIECE = 4096
_AT_A_TIME = 16  # pieces, then others get their turn
_CHUNK = 32768  # of stdin
_FULL_S = 0.01  # until a channel is tried again whose window was full
_PIPE_S = 10.0  # until a pipe is closed that nobody writes to any more
_END_S, _END_MOST_S = 0.002, 0.25  # looks for the code of a command that has closed its output


class Relay:
    """One session's bytes; made and used inside the loop.

    Args:
        channel: the session; it becomes ours.
        ends: descriptors of its stdin, stdout and stderr; they stay their owner's.
        passed_on: is told how many bytes of output were passed on.
        on_ended: is told the command's code; None: it has none, or somebody went away.
    """

    def __init__(
        self,
        channel: paramiko.Channel,
        ends: tuple[int, int, int],
        passed_on: Callable[[int], None],
        on_ended: Callable[[int | None], None],
    ) -> None:
        self._channel = channel
        self._stdin, self._stdout, self._stderr = ends
        self._passed_on = passed_on
        self._on_ended = on_ended
        self._loop = asyncio.get_running_loop()
        self._unsent = b""
        self._closed = False
        self._awaited = False
        self._writable: int | None = None
        self._pause_s = _END_S
        self._later: set[asyncio.TimerHandle] = set()
        self._pipe = -1

    def begin(self) -> None:
        """Pass on what comes from now on."""
        self._channel.setblocking(False)
        self._pipe = self._channel.fileno()
        self._loop.add_reader(self._pipe, self._pump)
        self._read_later(0.0)
        self._pump()

    def close(self) -> None:
        """End the session; the descriptors stay whose they are."""
        if self._closed:
            return
        self._closed = True
        for later in self._later:
            later.cancel()
        self._loop.remove_reader(self._pipe)
        self._await_stdin(awaited=False)
        if self._writable is not None:
            self._loop.remove_writer(self._writable)
        with contextlib.suppress(Exception):
            self._close_channel()

    def _close_channel(self) -> None:
        """Close the channel, and only later the pipe by which it tells us of news.

        The connection's own thread writes to that pipe when something comes, whoever closes it in
        that moment: the write fails, or goes to what has got its number meanwhile, and the
        connection is lost with all that it carries, the lease first. Once both ends have closed
        the channel nothing comes any more.
        """
        channel: Any = self._channel
        pipe, channel._pipe = channel._pipe, None  # noqa: SLF001 - close() would close it at once
        try:
            channel.close()
        finally:
            if pipe is not None:
                self._loop.call_later(_PIPE_S, pipe.close)

    def _end(self, code: int | None) -> None:
        if not self._closed:
            self.close()
            self._on_ended(code)

    def _after(self, seconds: float, call: Callable[[], None]) -> None:
        handle: asyncio.TimerHandle

        def act() -> None:
            self._later.discard(handle)
            call()

        handle = self._loop.call_later(seconds, act)
        self._later.add(handle)

    def _await_stdin(self, *, awaited: bool) -> None:
        """Wait for stdin, or do so no more."""
        if self._awaited and not awaited:
            self._loop.remove_reader(self._stdin)
        elif awaited and not self._awaited:
            try:
                self._loop.add_reader(self._stdin, self._read)
            except OSError:  # a file, or /dev/null: it never makes one wait
                self._read_later(0.0)
                return
        self._awaited = awaited

    def _read_later(self, seconds: float) -> None:
        self._await_stdin(awaited=False)
        self._after(seconds, self._read_if_ready)

    def _read_if_ready(self) -> None:
        if self._unsent or _ready(self._stdin, select.POLLIN):
            self._read()
        else:
            self._await_stdin(awaited=True)

    def _read(self) -> None:
        """Bring what stdin has to the command, as far as it takes it."""
        try:
            self._unsent = self._unsent or os.read(self._stdin, _CHUNK)
            if not self._unsent:
                self._await_stdin(awaited=False)
                self._channel.shutdown_write()
                return
            self._unsent = self._unsent[self._channel.send(self._unsent) :]
        except TimeoutError:
            pass
        except Exception:  # noqa: BLE001 - paramiko has many; what ends the session is seen elsewhere
            self._await_stdin(awaited=False)
            return
        self._read_later(_FULL_S) if self._unsent else self._await_stdin(awaited=True)

    def _pump(self) -> None:
        """Pass on what the command has written, as far as its readers take it."""
        channel = self._channel
        over = channel.eof_received or channel.closed  # what came before is in the buffers by now
        for ready, receive, target in (
            (channel.recv_ready, channel.recv, self._stdout),
            (channel.recv_stderr_ready, channel.recv_stderr, self._stderr),
        ):
            for _ in range(_AT_A_TIME):
                if not ready():
                    break
                if not _ready(target, select.POLLOUT):
                    self._pause(target)
                    return
                if not self._pass_on(receive(_PIECE), target):
                    self._end(None)
                    return
        if over and not channel.recv_ready() and not channel.recv_stderr_ready():
            self._loop.remove_reader(self._pipe)
            self._finish()

    def _pass_on(self, data: bytes, target: int) -> bool:
        try:
            while data:
                written = os.write(target, data)
                self._passed_on(written)
                data = data[written:]
        except OSError:  # nobody reads it any more: the command shall hear of that
            return False
        return True

    def _pause(self, target: int) -> None:
        """Leave the output with the channel, whose window fills, until it can be written."""
        self._loop.remove_reader(self._pipe)
        self._writable = target
        self._loop.add_writer(target, self._resume)

    def _resume(self) -> None:
        if self._writable is not None:
            self._loop.remove_writer(self._writable)
            self._writable = None
        self._loop.add_reader(self._pipe, self._pump)
        self._pump()

    def _finish(self) -> None:
        """Tell the code once it is known: a command may close its output long before it ends."""
        if self._channel.status_event.is_set() or self._channel.closed:
            code = self._channel.exit_status
            self._end(code if code >= 0 else None)
            return
        self._after(self._pause_s, self._finish)
        self._pause_s = min(self._pause_s * 1.5, _END_MOST_S)


def _ready(descriptor: int, what: int) -> bool:
    """Tell whether a descriptor can be read or written without a wait, or is beyond that."""
    poll = select.poll()
    poll.register(descriptor, what)
    return bool(poll.poll(0))
