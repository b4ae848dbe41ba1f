"""docs/comparison.md says nothing of us that no test holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "comparison.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.partition("## Feature by feature")[2].splitlines()
    if line.startswith("| ") and "mpiboot" not in line
]
PEERS = re.findall(r"^\| ([A-Z]{3}) \|", PAGE, re.MULTILINE)
OURS = re.compile(r'\[[✓◐]\]\(\.\./(tests/[\w/]+\.py) "(\w+)"\)|-')


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_mark_of_ours_has_its_test(row: list[str]) -> None:
    """A yes links to a file and names a test that is in it; else it says no."""
    ours = OURS.fullmatch(row[1])
    assert ours is not None, row[1]
    if ours[1]:
        text = (ROOT / ours[1]).read_text()
        assert re.search(rf"^def {ours[2]}\(", text, re.MULTILINE), ours[0]


def test_all_are_compared_in_each_row() -> None:
    """Each table has a column for every peer of the list, and a mark in each of its cells."""
    heads = re.findall(r"^\| \| mpiboot \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(heads) > 4
    assert len(ROWS) > 40
    assert set(heads) == {" | ".join(PEERS)}
    for row in ROWS:
        assert len(row) == 2 + len(PEERS), row[0]
        assert set(row[2:]) <= set("✓◐○-·"), row[0]
