"""Parts of pages that code writes, each between two marks of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mpiboot.model import options
from mpiboot.plan import rankrules
from mpiboot.plan.doctor import topics
from tests.helpers import monitoring
from tests.pages import codes, dialects, layers, metrics, platforms, status, troubles

ROOT = Path(__file__).resolve().parents[2]
_END = re.compile(r"<!-- /([a-z ]+) -->")
# Made of what a run has seen, by tests/docker/test_hostile_places.py.
_OF_A_RUN = ("docs/places.md", "places")


@dataclass(frozen=True, kw_only=True)
class Region:
    """A part of a page.

    Attributes:
        page: its path in the repository.
        name: of the marks around it.
        text: renders what stands between them.
    """

    page: str
    name: str
    text: Callable[[], str]


REGIONS = (
    Region(page="docs/settings.md", name="settings", text=options.markdown),
    Region(page="docs/environment.md", name="rank environment", text=rankrules.markdown),
    Region(page="docs/metrics.md", name="metrics", text=metrics.markdown),
    Region(page="docs/monitoring.md", name="alerts", text=monitoring.table),
    Region(page="docs/doctor.md", name="topics", text=topics.markdown),
    Region(page="docs/exit-codes.md", name="codes", text=codes.markdown),
    Region(page="docs/status.md", name="fields", text=status.markdown),
    Region(page="docs/platforms.md", name="platforms", text=platforms.overview),
    Region(page="docs/platforms.md", name="each platform", text=platforms.sections),
    Region(page="docs/mpi.md", name="dialects", text=dialects.markdown),
    Region(page="docs/design.md", name="layers", text=layers.drawn),
    Region(page="docs/troubleshooting.md", name="index", text=troubles.index),
    Region(page="docs/troubleshooting.md", name="messages", text=troubles.markdown),
)


def found(page: str, name: str) -> str:
    """Return what stands between the marks of that name.

    Raises:
        ValueError: they are not there, once each.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        message = f"expected {begin.strip()} and {end}, once each"
        raise ValueError(message)
    return page.partition(begin)[2].partition(end)[0]


def drifted() -> Iterator[tuple[Region, str]]:
    """Yield each part that is not as the code has it, with the page as it should be."""
    for region in REGIONS:
        page = (ROOT / region.page).read_text()
        before, after = found(page, region.name), region.text()
        if before != after:
            begin = f"<!-- {region.name} -->\n"
            yield region, page.replace(begin + before, begin + after, 1)


def strange() -> list[str]:
    """Name marks that no part has: what stands there would never be renewed."""
    known = {_OF_A_RUN, *((region.page, region.name) for region in REGIONS)}
    return [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "docs").rglob("*.md"))
        for name in _END.findall(path.read_text())
        if (str(path.relative_to(ROOT)), name) not in known
    ]
