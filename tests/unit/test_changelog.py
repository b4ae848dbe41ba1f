"""The changelog has its form, and what would break it is seen."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from mpiboot import __version__
from tests.helpers.changelog import problems

PAGE = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
TODAY = dt.date(2030, 1, 31)
GOOD = """\
# Changelog

The form is that of Keep a Changelog.

## [Unreleased]

### Added

- A thing.

## [1.10.0] - 2030-01-30

### Changed

- Another thing, with `code`.

### Fixed

- A fault.

## [1.9.0] - 2029-12-31

### Security

- A hole.

[Unreleased]: https://example.org/compare/1.10.0...HEAD
[1.10.0]: https://example.org/releases/1.10.0
"""


def test_our_changelog() -> None:
    """It keeps to the form, and no release is newer than the package."""
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    assert problems(PAGE.read_text(), __version__, today) == []


def test_the_good_one() -> None:
    """What the rest of this module breaks is whole."""
    assert problems(GOOD, "1.10.0", TODAY) == []
    assert problems(GOOD, "1.11.0", TODAY) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("# Changelog", "# Changes", "title"),
        ("## [Unreleased]\n\n### Added\n\n- A thing.\n", "", "does not come first"),
        ("[1.10.0] - 2030-01-30", "[1.8.0] - 2030-01-30", "newest version"),
        ("[1.10.0] - 2030-01-30", "[1.10.0] - 2029-01-30", "latest day"),
        ("[1.10.0] - 2030-01-30", "[1.10.0] - 2030-02-01", "still to come"),
        ("2029-12-31", "2029-11-31", "no day"),
        ("[1.9.0] - 2029-12-31", "1.9.0", "expected [X.Y.Z]"),
        ("[1.10.0] - 2030", "[1.12.0] - 2030", "is released, and the package is"),
        ("### Security", "### Security holes", "no kind"),
        ("### Changed", "### Security", "order"),
        ("### Changed", "### Fixed", "comes twice"),
        ("- A hole.\n", "", "is empty"),
        ("- A hole.", "- A hole", "A sentence"),
        ("- A hole.", "A hole.", "A sentence"),
        ("- A hole.", "- A hole.\n- A hole.", "twice"),
        ("### Security", "Words.\n\n### Security", "text before"),
        ("[1.10.0]: h", "[1.10.1]: h", "a link is called 1.10.1"),
    ],
)
def test_what_is_wrong_is_told(old: str, new: str, told: str) -> None:
    """Each departure from the form is one of the problems."""
    assert old in GOOD
    found = problems(GOOD.replace(old, new, 1), "1.10.0", TODAY)
    assert any(told in one for one in found), found
