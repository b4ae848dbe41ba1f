"""Keep the pods' /etc/hosts: one file per pod, bind-mounted there and updated in place."""

from __future__ import annotations

import os
from pathlib import Path

from mpiboot.model.record import dataclass, field

_LOCALHOST = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"


@dataclass(kw_only=True)
class _Entry:
    line: str
    listed: bool
    extra: tuple[str, ...] = field(default=())

    @property
    def own(self) -> str:
        return "".join(f"{line}\n" for line in (self.line, *self.extra))


class HostsFiles:
    """The names that pods know of each other.

    Args:
        directory: an empty directory of ours.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._entries: dict[str, _Entry] = {}

    def add(
        self,
        name: str,
        address: str,
        *,
        aliases: tuple[str, ...],
        extra: tuple[str, ...],
        listed: bool,
    ) -> Path:
        """Enter a pod and return its file; a pod of the same name is replaced."""
        line = " ".join((address, name, *aliases))
        self._entries[name] = _Entry(line=line, listed=listed, extra=extra)
        path = self._directory / name
        path.unlink(missing_ok=True)  # the former pod of this name keeps its own file
        path.touch(mode=0o644)
        self._publish()
        return path

    def show(self, name: str, *, listed: bool) -> None:
        """Publish a pod's name to all others, or withdraw it; the pod itself always knows it."""
        self._entries[name].listed = listed
        self._publish()

    def _publish(self) -> None:
        for name, entry in self._entries.items():
            others = (
                f"{other.line}\n"
                for key, other in self._entries.items()
                if other.listed and key != name
            )
            _overwrite(self._directory / name, f"{_LOCALHOST}{entry.own}{''.join(others)}")


def _overwrite(path: Path, text: str) -> None:
    """Write in place and in one piece, and never shrink.

    A bind mount shows an inode, so a rename would not be seen; blank lines fill the rest, so that
    a resolver that reads meanwhile never sees half a line of the former text as a tail.
    """
    fd = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(fd, text.encode().ljust(os.fstat(fd).st_size, b"\n"), 0)
    finally:
        os.close(fd)
