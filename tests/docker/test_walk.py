"""A newcomer's walk: every block of README and of the guide pages, run as it is written.

tests/helpers/guides.py tells the marks in the pages that say where; tests/unit/test_guides.py sees to it
that no block is without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.helpers import guides
from tests.helpers.guides import RUN, blocks
from tests.helpers.walking import walk

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

PAGES = [page for page in guides.pages() if any(block.kind in RUN for block in blocks(page))]
AT_ONCE = 3  # they mostly wait: for containers, names and packages


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Path, Future[None]]]:
    """All pages, a few at a time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {page: pool.submit(walk, page, tmp_path_factory.mktemp(page.stem)) for page in PAGES}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_newcomers_walk(walks: Mapping[Path, Future[None]], page: Path) -> None:
    """Each command ends as the page says, and each line that the page shows has come."""
    walks[page].result()


WRONG = {
    "a command that fails": ("host", "false\ntrue", "", "false"),
    "a command before the last": ("host, exit 7", "false\nsh -c 'exit 7'", "", "2 failures"),
    "a code that is another one": ("host, exit 7", "sh -c 'exit 3'", "", "ended with 3 after 1"),
    "a code that should be one": ("host, exit 7", "true", "", "ended with 0 after 0"),
    "a line that does not come": ("host", "echo 2 ranks", "3 ranks", "did not come: 3 ranks"),
    "a line too many": ("host", "echo once", "once\nonce", "did not come: once"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_page_is_found(tmp_path: Path, wrong: str) -> None:
    """A walk ends where a page is not true, and says which block it was and what came."""
    mark, commands, shown, said = WRONG[wrong]
    page = tmp_path / "page.md"
    text = f"```text\n{shown}\n```\n" if shown else ""
    page.write_text(f"# Page\n\n<!-- walk: {mark} -->\n```sh\n{commands}\n```\n{text}")
    (tmp_path / "walk").mkdir()
    with pytest.raises(AssertionError, match=r"page\.md:4") as found:
        walk(page, tmp_path / "walk")
    assert said in str(found.value)


def test_a_terminal_keeps_what_it_has_learnt(tmp_path: Path) -> None:
    """Variables, files and the directory of one block are there in the next."""
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- walk: file a/b -->\n```yaml\nsaid\n```\n"
        "<!-- walk: host -->\n```sh\nkept=$(cat a/b)\ncd a\n```\n"
        '<!-- walk: host -->\n```sh\necho "$kept at 10.1.2.3 after 1.25 s in $(ls)"\n```\n'
        "```text\n… at 10.9.9.9 after 7 s in b\n```\n"
    )
    (tmp_path / "walk").mkdir()
    walk(page, tmp_path / "walk")
