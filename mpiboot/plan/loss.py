"""What is known of a worker whose lease was lost → its kind, in words."""

from __future__ import annotations

import enum

from mpiboot.model.memory import Memory
from mpiboot.model.record import dataclass

# From this share of its limit on, memory is the likely reason for a sudden end.
_FULL = 0.9


class How(str, enum.Enum):
    """How the launcher's end of a lease noticed."""

    CLOSED = "closed"
    SILENT = "silent"
    NO_ACK = "no ack"
    LEFT = "left"


class Kind(str, enum.Enum):
    """What became of the worker; also the label of the metric."""

    GONE = "container gone"
    OOM = "out of memory"
    FROZEN = "frozen"
    UNREACHABLE = "unreachable"
    SSHD = "sshd gone"
    SUPERSEDED = "superseded"
    LEFT = "left"


class Knock(str, enum.Enum):
    """What a fresh connection to the worker's port showed."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    NOTHING = "nothing"
    NO_ROUTE = "no route"


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What became of a worker, and the sentence for it."""

    kind: Kind
    why: str


def explain(
    how: How, detail: str, knock: Knock, memory: Memory, notice: str = "", *, silent_s: float = 0.0
) -> Loss:
    """Tell what became of a worker.

    Args:
        how: as our own end of the lease saw it.
        detail: in words.
        knock: what attempts to connect showed afterwards.
        memory: its last word about its memory.
        notice: its last word about itself, as "superseded by …".
        silent_s: for how long it had said nothing.
    """
    if notice:
        return Loss(kind=Kind.SUPERSEDED, why=notice)
    if how is How.LEFT:
        return Loss(kind=Kind.LEFT, why=detail)
    if knock is Knock.NO_ROUTE:
        why = "unreachable: this container itself has no network to it any more"
        return Loss(kind=Kind.UNREACHABLE, why=why)
    if how is How.SILENT:
        why = f"silent for {silent_s:g} s, though its kernel still answers: frozen or overloaded"
        return Loss(kind=Kind.FROZEN, why=why)
    if how is How.NO_ACK:
        why = f"unreachable: nothing came through for {silent_s:g} s"
        return Loss(kind=Kind.UNREACHABLE, why=why)
    if knock is Knock.ACCEPTED:
        why = "its SSH session was killed, but the container still accepts logins"
        return Loss(kind=Kind.SSHD, why=why)
    share = (memory.used_bytes or 0) / memory.limit_bytes if memory.limit_bytes else 0.0
    if share >= _FULL:
        why = f"its container is gone; its memory was at {share:.0%} of the limit just before"
        return Loss(kind=Kind.OOM, why=why)
    if knock is Knock.REFUSED:
        return Loss(kind=Kind.SSHD, why="its sshd is gone: connections are refused")
    return Loss(kind=Kind.GONE, why=f"its container is gone ({detail})")
