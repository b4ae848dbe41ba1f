"""Take words out of what /proc tells everybody of this process: its command line and environment.

The kernel shows the memory in which it laid them down when the program was started. What is changed
there is gone for `ps` and for /proc/PID/environ; Python has its own copies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

_ARGUMENTS, _ENVIRONMENT = (48, 49), (50, 51)  # fields of /proc/PID/stat: from, to; proc(5)
_FIRST = 3  # the number of the field after the command's name


def draw(words: Sequence[str], shown: Sequence[str], names: Collection[str]) -> None:
    """Hide arguments and variables, from /proc and from children that get our environment.

    Args:
        words: the last words of our command line.
        shown: what is to stand there in their place.
        names: of variables.
    """
    for name in names:
        os.environ.pop(name, None)
    raw = [os.fsencode(word) for word in words]
    masks = [os.fsencode(word) for word in shown]
    _rewrite(_ARGUMENTS, lambda block: arguments(block, raw, masks))
    _rewrite(_ENVIRONMENT, lambda block: environment(block, [os.fsencode(one) for one in names]))


def arguments(block: bytes, words: Sequence[bytes], shown: Sequence[bytes]) -> bytes:
    """Exchange the last words of a command line as memory holds it; its size stays.

    Where the block does not end with those words, as in a test, it is left alone.
    """
    old = b"".join(word + b"\0" for word in words)
    if not block.endswith(old):
        return block
    new = b"".join(
        mask[: len(word)].ljust(len(word), b"\0") + b"\0"
        for word, mask in zip(words, shown, strict=True)
    )
    return block[: len(block) - len(old)] + new


def environment(block: bytes, names: Collection[bytes]) -> bytes:
    """Blank the values of variables in an environment as memory holds it; its size stays."""
    return b"\0".join(
        name + b"=" + b"\0" * len(value) if found and name in names else name + found + value
        for name, found, value in (entry.partition(b"=") for entry in block.split(b"\0"))
    )


def _rewrite(fields: tuple[int, int], change: Callable[[bytes], bytes]) -> None:
    values = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = (int(values[field - _FIRST]) for field in fields)
    if not (
        start and end > start
    ):  # zeros: the kernel tells them only to whom may look at our memory
        return
    if not _rewrite_by_file(start, end, change):
        _rewrite_in_place(start, end, change)


def _rewrite_by_file(start: int, end: int, change: Callable[[bytes], bytes]) -> bool:
    """Change our memory by the kernel's file of it; tell whether all of it was changed."""
    try:
        memory = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        block = os.pread(memory, end - start, start)
        return len(block) == end - start == os.pwrite(memory, change(block), start)
    except OSError:
        return False
    finally:
        os.close(memory)


def _rewrite_in_place(start: int, end: int, change: Callable[[bytes], bytes]) -> None:
    """Do it where the kernel does not let us at our memory by that file."""
    import ctypes  # noqa: PLC0415 - half a MiB, which a worker would keep

    ctypes.memmove(start, change(ctypes.string_at(start, end - start)), end - start)
