"""The form of the changelog, as https://keepachangelog.com/en/1.1.0/ has it."""

from __future__ import annotations

import re
from datetime import date

from packaging.version import Version

KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
_RELEASE = re.compile(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})( \[YANKED\])?")
_LINK = re.compile(r"^\[([^\]]+)\]: (https://\S+)$")


def problems(text: str, version: str, today: date) -> list[str]:
    """Say what is wrong with a changelog, one sentence for each fault.

    Args:
        text: the page.
        version: that of the package.
        today: no release is of a later day.
    """
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    found = [] if head.startswith("# Changelog\n") else ["the title is not # Changelog"]
    titles = [part.partition("\n")[0] for part in parts]
    if titles[:1] != ["[Unreleased]"]:
        found.append("[Unreleased] does not come first")
    found += _order([title for title in titles if title != "[Unreleased]"], version, today)
    for title, part in zip(titles, parts, strict=True):
        found += [f"{title}: {one}" for one in _entries(part.partition("\n")[2])]
    names = {title.partition("]")[0][1:] for title in titles}
    links = [match[1] for match in map(_LINK.match, text.splitlines()) if match]
    found += [f"a link is called {one}, and no part" for one in links if one not in names]
    return found


def _order(titles: list[str], version: str, today: date) -> list[str]:
    """Judge the titles of releases: their form, and that the newest comes first."""
    matches = [_RELEASE.fullmatch(title) for title in titles]
    found = [
        f"{title}: expected [X.Y.Z] - YYYY-MM-DD"
        for title, match in zip(titles, matches, strict=True)
        if match is None
    ]
    versions, days = [], []
    for match in filter(None, matches):
        versions.append(Version(match[1]))
        try:
            days.append(date.fromisoformat(match[2]))
        except ValueError:
            found.append(f"{match[1]}: there is no day {match[2]}")
    if versions != sorted(set(versions), reverse=True):
        found.append("the newest version does not come first, or one comes twice")
    if days != sorted(days, reverse=True):
        found.append("the latest day does not come first")
    found += [f"{day} is still to come" for day in days if day > today]
    if versions and versions[0] > Version(version):
        found.append(f"{versions[0]} is released, and the package is {version}")
    return found


def _entries(part: str) -> list[str]:
    """Judge what stands below a title: kinds in their order, each with sentences."""
    lead, *kinds = re.split(r"^### ", part, flags=re.MULTILINE)
    found = ["text before the first kind"] if _text(lead) else []
    names = [kind.partition("\n")[0] for kind in kinds]
    found += [f"{name} is no kind of change" for name in names if name not in KINDS]
    if names != sorted(set(names), key=lambda name: (*KINDS, name).index(name)):
        found.append(f"kinds are not in the order {', '.join(KINDS)}, or one comes twice")
    for name, kind in zip(names, kinds, strict=True):
        lines = _text(kind.partition("\n")[2])
        found += [f"{name} is empty"] * (not lines)
        for line in lines:
            if not re.fullmatch(r"- \S.*[.)`]", line):
                found.append(f"{name}: expected `- A sentence.`: {line[:60]}")
        found += [f"{name}: twice: {line[:60]}" for line in set(lines) if lines.count(line) > 1]
    return found


def _text(part: str) -> list[str]:
    return [line for line in part.splitlines() if line.strip() and not _LINK.match(line)]
