"""The documentation as a site: built from the repository's own tree, whole, with no stranger in it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.pages import links

_FROM = re.compile(r'\b(?:href|src)="([^"]+)"')
_SHOWS = re.compile(r'<(?:link|script|img)\b[^>]*\b(?:href|src)="(https?:[^"]+)"')


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it as `make docs` does, elsewhere."""
    place = tmp_path_factory.mktemp("site")
    argv = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--strict",
        "--site-dir",
        str(place),
    ]
    done = subprocess.run(argv, cwd=links.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def _followed(page: Path, site: Path) -> Iterator[tuple[str, Path]]:
    """Yield each link of a page to its own site, with the file that it leads to."""
    for link in _FROM.findall(page.read_text()):
        path = unquote(link.partition("#")[0])
        if path and not re.match(r"[a-z]+:|//", path):
            target = site / path.lstrip("/") if path.startswith("/") else page.parent / path
            yield link, target / "index.html" if target.is_dir() else target


def test_whatever_a_page_links_to_is_there(built: Path) -> None:
    """Pages, examples, tests, style and scripts: each link of each page leads to a file."""
    pages = [page for page in built.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 30
    dead = {
        link for page in pages for link, target in _followed(page, built) if not target.is_file()
    }
    assert dead == set()


def test_each_page_of_the_repository_is_in_it(built: Path) -> None:
    """The path in the site is the path in the repository."""
    for page in links.pages():
        path = page.relative_to(links.ROOT).with_suffix("")
        index = path.parent if path.name == "README" else path
        assert (built / index / "index.html").is_file(), path


def test_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    """Who reads it behind a wall sees all of it, and nobody hears that he does."""
    for page in built.rglob("*.html"):
        assert _SHOWS.findall(page.read_text()) == [], page
