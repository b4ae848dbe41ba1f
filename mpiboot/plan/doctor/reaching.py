"""What is said of a worker: by ssh, which asks whether a key would do and never proves it, or in its place."""

from __future__ import annotations

from mpiboot.model.diagnosis import Grade
from mpiboot.plan.gather import Reach, Seen

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


def by_agent(seen: Seen) -> tuple[Grade, str]:
    """Judge what a program in place of ssh has come to; what it cannot do now it may do later."""
    if seen.reach.ready:
        return Grade.OK, "a command can be run there"
    return Grade.WARNING, f"{seen.reach.value}: {seen.detail}"


def _shown(text: str) -> str:
    key = text.partition(_SHOWN)[2].partition("\n")[0].strip()
    return f": it shows {key}" if key else ""
