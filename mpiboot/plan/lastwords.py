"""The last lines that a rank wrote to its stderr: made fit to be shown, and shown at the end."""

from __future__ import annotations

import re

from mpiboot.model.outcome import Outcome

_LINES = 20
_BYTES = 4096
_LONGEST = 500
_SHOWN = 10
# Colours and cursor moves of a terminal.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


def lines(text: object) -> tuple[str, ...]:
    """Return the last lines of a text from another machine, printable and bounded.

    Args:
        text: what came; anything but a text has no lines. Of a progress bar only what it showed last
            counts.
    """
    if not isinstance(text, str):
        return ()
    found, size = list[str](), 0
    for line in reversed(_ESCAPES.sub("", text[-_BYTES:]).split("\n")):
        shown = "".join(c if c.isprintable() else " " for c in line.rstrip("\r").split("\r")[-1])
        shown = shown.rstrip()[:_LONGEST]
        size += len(shown.encode(errors="replace")) + 1
        if size > _BYTES or len(found) == _LINES:
            break
        if shown:
            found.append(shown)
    return tuple(reversed(found))


def recalled(outcome: Outcome) -> list[str]:
    """Return what is to be said once more right before the end: the first failed rank's last lines."""
    first = next((one for one in outcome.failures if one.rank is not None), None)
    if first is None or outcome.code == 0:
        return []
    return [f"[rank {first.rank} on {first.host}] {line}" for line in first.stderr[-_SHOWN:]]
