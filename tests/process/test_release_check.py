"""What `make release-check` refuses to build."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.packages import ROOT

VERSION = "7.8.9"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout of a package that could be released: its script, its version, its changelog."""
    place = tmp_path / "tree"
    (place / "mpiboot").mkdir(parents=True)
    (place / "mpiboot/__init__.py").write_text(f'__version__ = "{VERSION}"\n')
    (place / "CHANGELOG.md").write_text(f"# Changelog\n\n## [{VERSION}] - 2026-01-01\n")
    (place / ".gitignore").write_text(".venv\n.build\n__pycache__\n")
    (place / ".ci").mkdir()
    for name in ("release", "quiet"):
        shutil.copy(ROOT / ".ci" / name, place / ".ci" / name)
    (place / ".venv").symlink_to(sys.prefix)
    git(place, "init", "-q")
    commit(place)
    return place


def git(place: Path, *words: str) -> None:
    who = (
        "-c",
        "user.name=Nobody",
        "-c",
        "user.email=nobody@example.org",
        "-c",
        "tag.gpgSign=false",
    )
    subprocess.run(["git", *who, *words], cwd=place, check=True, capture_output=True, timeout=60)


def commit(place: Path) -> None:
    git(place, "add", "-A")
    git(place, "-c", "commit.gpgSign=false", "commit", "-q", "--allow-empty", "-m", "Release")


def refused(place: Path) -> str:
    """Run the check; return what it says, which it must not go beyond."""
    done = subprocess.run(
        [".ci/release"], cwd=place, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert not (place / "dist").exists()
    assert done.stdout == "", done.stdout
    return done.stderr


def test_what_is_not_committed(tree: Path) -> None:
    """A file that only this machine has, or a change, would be in nobody else's package."""
    (tree / "mpiboot/new.py").touch()
    assert "the tree differs from the commit" in refused(tree)
    assert "mpiboot/new.py" in refused(tree)


def test_a_version_that_the_changelog_does_not_know(tree: Path) -> None:
    """The changelog's part has to be there, with a date."""
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n")
    commit(tree)
    assert f"CHANGELOG.md has no part [{VERSION}]" in refused(tree)


def test_a_version_that_is_taken(tree: Path) -> None:
    """A tag names one commit for ever."""
    git(tree, "tag", f"v{VERSION}")
    commit(tree)
    assert f"the tag v{VERSION} is another commit" in refused(tree)
