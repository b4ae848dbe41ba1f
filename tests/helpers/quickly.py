"""Assert that work on hostile input takes a bounded time: what was meant to blow up takes minutes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quickly(most_s: float = 5.0) -> Iterator[None]:
    """Fail where the block has used more CPU time; a loaded machine changes nothing in that."""
    begun = time.process_time()
    yield
    used_s = time.process_time() - begun
    assert used_s < most_s, f"{used_s:.1f} s of CPU time"
