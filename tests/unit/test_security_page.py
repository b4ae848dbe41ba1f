"""SECURITY.md names tests that are there: a promise without one is none."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def test_each_promise_has_a_test() -> None:
    """Each row of a table of promises names at least one, and nothing else stands in its place."""
    rows = [
        line
        for table in re.findall(r"\| promise \| kept by \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)
        for line in table.splitlines()
    ]
    assert len(rows) > 20
    for row in rows:
        kept_by = row.rstrip(" |").rpartition(" | ")[2]
        assert re.fullmatch(r"`tests/[\w/.]+::\w+`(, `tests/[\w/.]+::\w+`)*", kept_by), row


def test_each_test_that_is_named_is_there() -> None:
    """It has that name in that file, and is not skipped as a whole."""
    for file, name in NAMED:
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE), (file, name)
