"""The page that is searched for a message: an index by exit code, and every entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from mpiboot.errors import EXIT_MEANINGS
from mpiboot.report import troubles
from mpiboot.report.troubles import Entry
from tests.pages.anchors import slug
from tests.pages.tables import table


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entries."""
    return tuple(troubles.entries())


def codes() -> Counter[int]:
    """Count the entries of each exit code."""
    return Counter(code for one in entries() for code in one.codes)


def index() -> str:
    """Render a row for each exit code with the entries that may end so."""
    meanings = {int(code): meaning for code, meaning in EXIT_MEANINGS.items()}
    rows = [
        (str(code), meanings[code], ", ".join(map(_link, troubles.of_code(code, entries()))))
        for code in sorted({code for one in entries() for code in one.codes})
    ]
    rest = [one for one in entries() if not one.codes]
    rows.append(("", "only told, or with the job's own code", ", ".join(map(_link, rest))))
    return table(("code", "meaning", "what it may be"), rows)


def markdown() -> str:
    """Render every entry, topic by topic."""
    return "\n".join(_sections())


def _sections() -> Iterator[str]:
    topic = ""
    for one in entries():
        if one.topic != topic:
            topic = one.topic
            yield f"## {topic}\n"
        yield _entry(one)


def _entry(one: Entry) -> str:
    said = "\n".join(one.messages)
    with_codes = f"Exit code {' or '.join(map(str, one.codes))}. " if one.codes else ""
    more = f"\nMore: [{one.see}]({one.see}).\n" if one.see else ""
    return (
        f"### {one.title}\n\n```text\n{said}\n```\n\n{with_codes}{one.cause}\n\n"
        f"**Remedy**: {one.remedy}\n{more}"
    )


def _link(one: Entry) -> str:
    return f"[{one.title}](#{slug(one.title)})"
