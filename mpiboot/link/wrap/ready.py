"""Wait for descriptors."""

from __future__ import annotations

import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def wait(fds: list[int], timeout_s: float, sinks: Sequence[int] = ()) -> list[int]:
    """Return the descriptors that can be read or have ended; none when the time is over first.

    Args:
        fds: to be read.
        timeout_s: how long to wait; infinite: for ever.
        sinks: to be written: they are returned when they have room, or nobody reads them.
    """
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    for fd in sinks:
        poll.register(fd, select.POLLOUT)
    timeout_ms = None if timeout_s == float("inf") else max(0.0, timeout_s) * 1000
    return [fd for fd, _ in poll.poll(timeout_ms)]
