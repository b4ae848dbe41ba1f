"""The ring keeps the end of the output, and no more memory than it may."""

from __future__ import annotations

import contextlib
import io

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.report.kept import Kept, Written


@given(st.integers(1, 50), st.lists(st.binary(max_size=120), max_size=40))
def test_the_end_is_kept(limit: int, pieces: list[bytes]) -> None:
    """The last bytes of all that was written, whatever the pieces; never more than twice the limit."""
    ring = Kept(limit)
    for piece in pieces:
        ring.write(piece)
        assert len(ring._data) < 2 * limit
    whole = b"".join(pieces)
    assert ring.to_json() == {
        "bytes_seen": len(whole),
        "bytes_kept": min(limit, len(whole)),
        "text": whole[-limit:].decode(errors="replace"),
    }


class Full(io.BytesIO):
    """A file on a full disk."""

    def write(self, _data: object, /) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_does_not_cost_the_ring_its_piece() -> None:
    """The ring is served first."""
    ring = Kept(100)
    both = Written(Full(), ring)
    try:
        both.write(b"last words")
    except OSError as fault:
        assert fault.errno == 28
    else:
        raise AssertionError("the log file's fault is the caller's to ignore")
    assert ring.to_json()["text"] == "last words"
    both.close()


def test_a_full_disk_is_told_of_once() -> None:
    """Whoever asked for the file hears why it lacks text, and not again with each piece."""
    told: list[int | None] = []
    both = Written(Full(), None, lambda fault: told.append(fault.errno))
    for _ in range(3):
        with contextlib.suppress(OSError):
            both.write(b"words")
    assert told == [28]


def test_what_the_disk_takes_in_parts_is_written_whole() -> None:
    """A write that was cut short goes on."""

    class Slow(io.BytesIO):
        def write(self, data: object, /) -> int:
            assert isinstance(data, bytes)
            return super().write(data[:2])

    file = Slow()
    Written(file, None).write(b"words")
    assert file.getvalue() == b"words"
