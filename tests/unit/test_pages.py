"""Pages read the same on GitHub and in the site, and every link of them leads somewhere."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.pages import anchors, links


def test_no_link_is_broken() -> None:
    """Each relative link leads to a file of the repository, and each anchor to a heading of it."""
    assert links.broken() == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Your own mpirun or horovodrun", "your-own-mpirun-or-horovodrun"),
        ("Operators before v2: kubexec.sh", "operators-before-v2-kubexecsh"),
        ("What a rank's user could do with the job's key", "what-a-ranks-user-could-do-with-the-jobs-key"),
        ("`--ssh-from` and [hosts](hosts.md)", "--ssh-from-and-hosts"),
        ("no_name, twice  spaced", "no_name-twice--spaced"),
    ],
)  # fmt: skip
def test_anchors_are_githubs(heading: str, anchor: str) -> None:
    """Small letters, no punctuation but hyphens and underscores, a hyphen for each blank."""
    assert anchors.slug(heading) == anchor


def test_a_list_begins_after_a_blank_line() -> None:
    """GitHub takes a list right below a paragraph for one; the site's Markdown does not."""
    wrong = []
    for page in links.pages():
        lines = links.prose(page).splitlines()
        for above, line in itertools.pairwise(lines):
            item = re.match(r" *([-*]|\d+\.) ", line)
            if item and above.strip() and not re.match(r" *([-*]|\d+\.) | {2,}", above):
                wrong.append(f"{page.name}: {line}")
    assert wrong == []
