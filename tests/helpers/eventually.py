"""Wait for a fact with a deadline, in place of a sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(check: Callable[[], T], timeout: float = 10.0, interval: float = 0.02) -> T:
    """Call `check` until it raises no AssertionError; return what it returns.

    At the deadline its last AssertionError is raised, so that the test says what was still wrong.

    Args:
        check: asserts the fact; is called at least once, and once more at the deadline.
        timeout: seconds.
        interval: seconds between two calls.
    """
    deadline = time.monotonic() + timeout
    while True:
        last = time.monotonic() >= deadline
        try:
            return check()
        except AssertionError:
            if last:
                raise
        time.sleep(interval)
