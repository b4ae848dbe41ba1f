"""Put a file where others look for it: on a volume, whole, readable by all."""

from __future__ import annotations

from pathlib import Path

from mpiboot.runtime import files

_MODE = 0o644  # whoever reads it may be another user


def deliver(path: Path, text: str | bytes) -> None:
    """Write a file atomically, and in place where the directory forbids that; make the directory.

    A file that is a mount of its own, or that stands in a directory which others own, cannot be
    replaced, but it can be written.

    Raises:
        OSError: it cannot be written either way.
    """
    data = text.encode(errors="replace") if isinstance(text, str) else text
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, data, mode=_MODE)
    except OSError:
        if not path.exists():
            raise
        path.write_bytes(data)
