"""What each message means and what helps: the entries beside this file, and how one is found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import resources

from mpiboot.model.record import dataclass

ANY = "…"  # stands in a message for what differs from case to case
_MOST = 3
# Things behind their number, which may be one; their verb is another one then.
_SEVERAL = re.compile(r"^(\\ \w{2,}?)e?s\b(\\ (?:are|have|were|need)\b)?")
_LEAST_SHARE = 0.6  # of the letters of the entry that fits best


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One trouble.

    Attributes:
        topic: of the file that it stands in.
        title: in a few words.
        messages: as they are printed, with `…` for what differs.
        codes: exit codes that it may end with; empty: it is only told, or the job's own code.
        cause: what is the matter in the cluster.
        remedy: what to change.
        see: page of docs/ that says more, with its anchor; may be empty.
    """

    topic: str
    title: str
    messages: tuple[str, ...]
    codes: tuple[int, ...]
    cause: str
    remedy: str
    see: str


def entries() -> Iterator[Entry]:
    """Yield all entries, topic by topic."""
    import yaml  # noqa: PLC0415 - heavy, and only this command needs it

    files = (one for one in resources.files(__name__).iterdir() if one.name.endswith(".yaml"))
    for file in sorted(files, key=lambda one: one.name):
        loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
        for one in loaded["entries"]:
            yield Entry(
                topic=loaded["topic"],
                title=one["title"],
                messages=tuple(one["messages"]),
                codes=tuple(one.get("codes", ())),
                cause=one["cause"],
                remedy=one["remedy"],
                see=one.get("see", ""),
            )


def of_code(code: int, known: Sequence[Entry]) -> list[Entry]:
    """Return the entries of an exit code."""
    return [one for one in known if code in one.codes]


def of_message(text: str, known: Sequence[Entry]) -> list[Entry]:
    """Return the entries that a line fits, the one with the most words of it first; three at most.

    Args:
        text: a line of the log, or a part of it.
        known: all entries.
    """
    line = " ".join(text.split())
    scored = [(_fit(line, one), one) for one in known]
    best = max((score for score, _ in scored), default=0)
    found = sorted((pair for pair in scored if pair[0] > best * _LEAST_SHARE), key=_score)
    return [one for _, one in found[:_MOST]]


def _score(pair: tuple[int, Entry]) -> int:
    return -pair[0]


def _fit(line: str, entry: Entry) -> int:
    """Count the letters of the entry's longest message that is in the line."""
    return max((_letters(one) for one in entry.messages if _is_in(one, line)), default=0)


def _letters(message: str) -> int:
    return sum(map(str.isalnum, message))


def _is_in(message: str, line: str) -> bool:
    first, *others = (re.escape(part) for part in message.split(ANY))
    parts = [first, *(_SEVERAL.sub(_one_or_more, part) for part in others)]
    return re.search(".*?".join(parts), line, re.IGNORECASE) is not None


def _one_or_more(several: re.Match[str]) -> str:
    """Return a pattern that fits `slots are` and `slot is`."""
    return several[1] + r"(?:es?|s)?" + (r"\ \w+" if several[2] else "")
