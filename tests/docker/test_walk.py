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
