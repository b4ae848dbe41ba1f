"""`mpiboot explain`: what an exit code or a message means, and what helps."""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mpiboot.cli.sources import default_signals
from mpiboot.errors import EXIT_MEANINGS, UsageError
from mpiboot.model import flags

if TYPE_CHECKING:
    from mpiboot.report.troubles import Entry

_WIDTH = 88
_CODES = 256


def explain(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    """Show what is known of it; needs no network and no agent."""
    from mpiboot.report import troubles  # noqa: PLC0415 - start-up time counts

    default_signals()
    made = flags.bare(
        "mpiboot explain", "Say what an exit code or a message means, and what helps."
    )
    made.add_argument(
        "what", nargs="+", metavar="CODE|MESSAGE", help="as the log has it, in quotes"
    )
    text = " ".join(made.parse_args(list(argv)).what)
    known = list(troubles.entries())
    if text.isascii() and text.isdigit() and int(text) < _CODES:
        meaning = _of_code(int(text))
        print(f"{text}: {meaning}")
        for one in troubles.of_code(int(text), known) or troubles.of_message(meaning, known):
            print(f"\n{_shown(one)}")
        return 0
    found = troubles.of_message(text, known)
    if not found:
        raise UsageError("no entry fits that", hint="give a line of the log, or the exit code")
    print("\n\n".join(map(_shown, found)))
    return 0


def _of_code(code: int) -> str:
    for own, meaning in EXIT_MEANINGS.items():
        if own == code:
            return f"{meaning}; or the job's own code"
    if code > 128 and code - 128 in {int(one) for one in signal.Signals}:
        name = signal.Signals(code - 128).name
        return f"the job was killed by {name}: the rank that failed first, or all of it"
    return f"the job ended with {code}, its own code" if code else "the job succeeded"


def _shown(one: Entry) -> str:
    """Render an entry for a terminal."""
    rows = [("cause", one.cause), ("remedy", one.remedy)]
    rows += [("see", f"docs/{one.see}")] if one.see else []
    told = [
        textwrap.fill(
            text, _WIDTH, initial_indent=f"  {name:<8}", subsequent_indent=" " * 10,
            break_long_words=False, break_on_hyphens=False,
        )
        for name, text in rows
    ]  # fmt: skip
    codes = f" ({', '.join(map(str, one.codes))})" if one.codes else ""
    return "\n".join([f"{one.title}{codes}", *told])
