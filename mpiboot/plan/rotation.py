"""Decide where a file of a rank's output ends and the next one begins."""

from __future__ import annotations

from mpiboot.plan.lines import LONGEST_LINE


def portion(size: int, data: bytes, most: int, *, whole: bool) -> tuple[int, bool]:
    """Say how many bytes the file still gets, and whether a new one begins after them.

    Files end with a line. One that is longer than what is left goes into the file nevertheless, up
    to LONGEST_LINE: no file has more bytes than both together.

    Args:
        size: bytes that it has.
        data: what comes next.
        most: bytes that it should have at most; 0: there is no such number.
        whole: whether it ends with a newline, or is empty.
    """
    if not most or size + len(data) <= most:
        return len(data), False
    end = data.rfind(b"\n", 0, max(0, most - size)) + 1
    if end:
        return end, True
    if whole and size:
        return 0, True
    end = data.find(b"\n") + 1
    count = end or len(data)
    if size + count <= most + LONGEST_LINE:
        return count, bool(end)
    return max(0, most + LONGEST_LINE - size), True
