"""What becomes of a call that met a shim: the real program, a worker or a launcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from mpiboot.model import shims
from mpiboot.model.spec import LAUNCHER, WORKER
from mpiboot.plan import ownrun, sshdcall
from mpiboot.plan.shims import SSHD, WITHIN

# Programs that are PID 1 for another one, and end with it.
_INITS = frozenset(("tini", "dumb-init", "catatonit", "docker-init", "init"))
# Where further launches may follow, a success must not let the workers go.
STAY = ("never", "the container's command may start mpirun again")


class Turn(Enum):
    """What the call becomes."""

    PASS = "the real program"  # noqa: S105 - no password
    WORKER = "a worker"
    BACKGROUND = "a worker, in the background"
    LAUNCHER = "a launcher"


def decide(
    name: str, args: Sequence[str], env: Mapping[str, str], *, role: str, at_work: bool
) -> Turn:
    """Decide what a call becomes.

    Args:
        name: of the program.
        args: its words.
        env: its environment.
        role: of this container, as the platform or the user says; empty: nobody does.
        at_work: whether an agent works in this container already.
    """
    if at_work or env.get(shims.VARIABLE, "on") not in ("", "on"):
        return Turn.PASS
    if any(env.get(one) for one in WITHIN):
        return Turn.PASS
    if name == SSHD:
        call = sshdcall.parse(args) if role == WORKER else None
        if call is None:
            return Turn.PASS
        return Turn.WORKER if call.foreground else Turn.BACKGROUND
    if role != LAUNCHER or not args or ownrun.find([name, *args]) is None:
        return Turn.PASS
    return Turn.LAUNCHER


def last(pid: int, parent: int, first: str) -> bool:
    """Tell whether the container ends with this process, so that no further launch can follow.

    Args:
        pid: of this process.
        parent: its parent.
        first: name of the program that is PID 1.
    """
    return pid == 1 or (parent == 1 and first in _INITS)
