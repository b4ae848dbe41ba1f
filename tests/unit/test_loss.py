"""Each kind of loss has its sentence."""

from __future__ import annotations

import pytest

from mpiboot.model.memory import Memory
from mpiboot.plan import loss
from mpiboot.plan.loss import How, Kind, Knock

FULL = Memory(used_bytes=96, limit_bytes=100)


@pytest.mark.parametrize(
    ("seen", "kind", "words"),
    [
        ((How.CLOSED, Knock.NOTHING, Memory(), ""), Kind.GONE, "its container is gone"),
        ((How.CLOSED, Knock.NOTHING, FULL, ""), Kind.OOM, "96% of the limit"),
        ((How.CLOSED, Knock.REFUSED, Memory(), ""), Kind.SSHD, "sshd is gone"),
        ((How.CLOSED, Knock.ACCEPTED, FULL, ""), Kind.SSHD, "still accepts logins"),
        ((How.SILENT, Knock.NOTHING, FULL, ""), Kind.FROZEN, "silent for 15 s"),
        ((How.NO_ACK, Knock.NOTHING, Memory(), ""), Kind.UNREACHABLE, "came through for 15 s"),
        ((How.SILENT, Knock.NO_ROUTE, Memory(), ""), Kind.UNREACHABLE, "this container itself"),
        ((How.LEFT, Knock.NOTHING, Memory(), ""), Kind.LEFT, "detail"),
        ((How.CLOSED, Knock.NOTHING, Memory(), "b has it"), Kind.SUPERSEDED, "b has it"),
    ],
)
def test_kinds(seen: tuple[How, Knock, Memory, str], kind: Kind, words: str) -> None:
    """What our end saw, what a knock showed, and the worker's last words decide."""
    how, knock, memory, notice = seen
    found = loss.explain(how, "detail", knock, memory, notice, silent_s=15)
    assert found.kind is kind
    assert words in found.why
