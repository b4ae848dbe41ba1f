"""Pages read the same on GitHub and in the site, and every link of them leads somewhere."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.pages import anchors, links, site


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


def test_each_test_that_a_page_names_is_there() -> None:
    """A promise that points to a test points to one that exists."""
    named = {
        found
        for page in links.pages()
        for found in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text())
    }
    assert len(named) > 20
    for file, name in named:
        text = (links.ROOT / file).read_text()
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), (file, name)


def test_each_module_of_the_architecture_is_there() -> None:
    """The diagrams and the text of docs/design.md name modules that exist."""
    page = (links.ROOT / "docs" / "design.md").read_text()
    named = set(
        re.findall(r"\b((?:link|model|mpi|plan|platforms|report|roles|runtime)/\w+\.py)", page)
    )
    assert len(named) > 20
    assert [name for name in named if not (links.ROOT / "mpiboot" / name).is_file()] == []


def test_a_page_that_no_section_names_has_its_place() -> None:
    """A pattern takes what no other entry names; a page that is not written yet is left out."""
    nav = [
        {"Guides": ["docs/guides/*.md", "docs/named.md", "docs/to-come.md"]},
        {"Empty": ["docs/to-come-too.md"]},
        {"More": ["docs/*.md", "*.md"]},
    ]
    pages = ["README.md", "docs/guides/b.md", "docs/named.md", "docs/new.md"]
    assert site.arranged(nav, pages) == [
        {"Guides": ["docs/guides/b.md", "docs/named.md"]},
        {"More": ["docs/new.md", "README.md"]},
    ]
