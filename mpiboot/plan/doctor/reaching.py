"""What ssh says of a worker whose sshd is asked whether it takes a key, and never given a proof of it."""

from __future__ import annotations

from mpiboot.model.diagnosis import Grade
from mpiboot.plan.gather import Reach

# In the order in which ssh gets there, from its end: the first that is found counts.
_SAID = (
    ("Server accepts key", Grade.OK, "its sshd takes the job's key"),
    ("Permission denied", Grade.FAIL, Reach.KEY_REFUSED.value),
    ("Host key verification failed", Grade.FAIL, Reach.WRONG_HOST_KEY.value),
    ("no matching host key type", Grade.FAIL, Reach.WRONG_HOST_KEY.value),
    ("Connection refused", Grade.WARNING, Reach.REFUSED.value),
)
_SHOWN = "Server host key: "
_DEBUG = "debug1: "


def told(text: str) -> tuple[Grade, str]:
    """Read the output of `ssh -v`.

    Returns:
        how good it is, and what it means; the host key that was shown, where it was the wrong one.
    """
    for mark, grade, meaning in _SAID:
        if mark in text:
            wrong = meaning == Reach.WRONG_HOST_KEY.value
            return grade, f"{meaning}{_shown(text)}" if wrong else meaning
    lines = [line.strip() for line in text.splitlines() if not line.startswith(_DEBUG)]
    last = next((line for line in reversed(lines) if line), "ssh says nothing")
    return Grade.WARNING, f"{Reach.NO_ROUTE.value}: {last[:200]}"


def _shown(text: str) -> str:
    key = text.partition(_SHOWN)[2].partition("\n")[0].strip()
    return f": it shows {key}" if key else ""
