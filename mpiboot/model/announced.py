"""Who takes part where nobody can be looked up: nodes that announce themselves to the launcher."""

from __future__ import annotations

from mpiboot.errors import ConfigError
from mpiboot.model.record import dataclass

PREFIX = "announce:"
MAX_NODES = 100_000


@dataclass(frozen=True, kw_only=True)
class Announced:
    """Nodes that tell the launcher where they are.

    Attributes:
        count: of all nodes of the job.
        own: the launcher's number among them, where ranks run beside it, too; None: they do not.
    """

    count: int
    own: int | None = None

    @property
    def awaited(self) -> int:
        """How many will announce themselves."""
        return self.count - (self.own is not None)


def parse(text: str) -> Announced:
    """Read `announce:N`, or `announce:N:OWN` where the launcher itself is node OWN of the N.

    Raises:
        ConfigError: it cannot be read.
    """
    first, colon, second = text.removeprefix(PREFIX).partition(":")
    count = _number(first)
    own = _number(second) if colon else None
    if count is None or not 0 < count <= MAX_NODES or (colon and (own is None or own >= count)):
        raise ConfigError(
            f"--hosts {text[:80]!r} is not understood",
            hint=f"write announce:N for N nodes, 1 to {MAX_NODES}, or announce:N:OWN where this"
            " container is node OWN, 0 to N-1",
        )
    return Announced(count=count, own=own)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
