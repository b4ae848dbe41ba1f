"""The agent's own exit codes: what they mean, whether a retry may help, and what is said with them."""

from __future__ import annotations

from mpiboot.errors import EXIT_MEANINGS
from tests.pages import troubles
from tests.pages.tables import table

_RETRY = 128  # Kubernetes' convention: below it a retry will not help


def markdown() -> str:
    """Render a row for each code."""
    told = troubles.codes()
    return table(
        ("code", "meaning", "retry", "messages"),
        (
            (
                str(int(code)),
                meaning,
                "may help" if code >= _RETRY else "no",
                f"[{told[int(code)]}](troubleshooting.md#by-exit-code)"
                if int(code) in told
                else "",
            )
            for code, meaning in EXIT_MEANINGS.items()
        ),
    )
