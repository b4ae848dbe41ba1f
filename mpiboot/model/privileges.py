"""What a process may do beside what its user may: capabilities and the lowest port that is free to all."""

from __future__ import annotations

from mpiboot.model.record import dataclass

# The few that matter here, by their bits: capabilities(7).
BITS = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "NET_BIND_SERVICE": 10,
    "IPC_LOCK": 14,
    "SYS_CHROOT": 18,
    "SYS_PTRACE": 19,
    "SYS_ADMIN": 21,
    "SYS_NICE": 23,
    "AUDIT_WRITE": 29,
}


def named(mask: int) -> frozenset[str]:
    """Name the capabilities of a mask; those that have no name here are called by number."""
    known = {bit: name for name, bit in BITS.items()}
    return frozenset(known.get(bit, f"CAP_{bit}") for bit in range(64) if mask >> bit & 1)


@dataclass(frozen=True, kw_only=True)
class Privileges:
    """What this process may do.

    Attributes:
        uid: its user.
        held: capabilities in effect.
        bounding: those that a program may gain when it is started.
        no_new_privs: whether a program gains none.
        unprivileged_port: the lowest port that anybody may listen on.
    """

    uid: int
    held: frozenset[str] = frozenset()
    bounding: frozenset[str] = frozenset()
    no_new_privs: bool = False
    unprivileged_port: int = 1024
