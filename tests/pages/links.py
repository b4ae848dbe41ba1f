"""Relative links of the pages, and the anchors that a page has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.pages.anchors import slug

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^)\s]+)(?: \"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_NAMED = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")


def pages() -> list[Path]:
    """Return all pages: those beside README.md, of docs/ and of examples/."""
    found = sorted(ROOT.glob("*.md"))
    for directory in ("docs", "examples"):
        found += sorted((ROOT / directory).rglob("*.md"))
    return found


def prose(page: Path) -> str:
    """Return the text of a page without its blocks of code."""
    return _FENCE.sub("", page.read_text())


def relative(page: Path) -> Iterator[tuple[str, str]]:
    """Yield path and anchor of each link of a page that leads to no other machine."""
    text = _CODE.sub("`…`", prose(page))
    for link in _LINK.findall(text):
        if not re.match(r"[a-z][a-z0-9+.-]*:", link):
            path, _, anchor = link.partition("#")
            yield path, anchor


def targets(page: Path) -> Iterator[Path]:
    """Yield the files and directories of the repository that a page links to."""
    for path, _ in relative(page):
        yield (page.parent / path).resolve() if path else page


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page; a heading that comes twice has a number the second time."""
    text = prose(page)
    seen: dict[str, int] = {}
    found = set(_NAMED.findall(text))
    for heading in _HEADING.findall(text):
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return frozenset(found)


def broken() -> list[str]:
    """Name each relative link that leads nowhere: file and anchor, on GitHub and in the site alike."""
    wrong = []
    for page in pages():
        for path, anchor in relative(page):
            target = (page.parent / path).resolve() if path else page
            shown = f"{page.relative_to(ROOT)}: {path}{'#' if anchor else ''}{anchor}"
            if not target.is_relative_to(ROOT) or not target.is_file():
                wrong.append(f"{shown}: no such file")
            elif anchor and anchor not in anchors(target):
                wrong.append(f"{shown}: no such anchor")
    return wrong
