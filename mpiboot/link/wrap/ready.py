"""Wait for descriptors."""

from __future__ import annotations

import select


def wait(fds: list[int], timeout_s: float) -> list[int]:
    """Return the descriptors that can be read or have ended; none when the time is over first."""
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    timeout_ms = None if timeout_s == float("inf") else max(0.0, timeout_s) * 1000
    return [fd for fd, _ in poll.poll(timeout_ms)]
