"""The figures that the repository keeps: read, write, and the table of docs/performance.md."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.goal import OURS, RATIO, THEIRS
from bench.plot import svg

FIGURES = Path(__file__).parent / "figures"
PAGE = Path(__file__).parents[1] / "docs/performance.md"
BEGIN, END = "<!-- figures: python -m bench --keep -->", "<!-- end of figures -->"
_HEAD = "| goal | what | unit | mpiboot | baseline | ratio | aim |\n|---|---|---|---|---|---|---|\n"


def read(directory: Path, name: str) -> dict[str, Any] | None:
    """Return a goal's kept figures; None: there are none."""
    path = directory / f"{name}.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def write(directory: Path, result: Mapping[str, Any]) -> None:
    """Write a goal's figures and its plot."""
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    (directory / f"{result['name']}.json").write_text(text)
    (directory / f"{result['name']}.svg").write_text(svg(result))


def table(results: Sequence[Mapping[str, Any]]) -> str:
    """Render the table: medians, extremes in brackets."""
    return _HEAD + "".join(_line(one) for one in results)


def _line(result: Mapping[str, Any]) -> str:
    aims = ", ".join(
        f"{aim['figure']} ≤ {aim['most']:g}: {'met' if aim['met'] else 'missed'}"
        for aim in result["aims"]
    )
    cells = [_cell(result["figures"].get(key)) for key in (OURS, THEIRS, RATIO)]
    what = f"{result['what']}, beside {result['beside']}" if result["beside"] else result["what"]
    noisy = " (noisy)" if result["noisy"] else ""
    words = [result["name"] + noisy, what, result["unit"], *cells, aims]
    return f"| {' | '.join(words)} |\n"


def _cell(figure: Mapping[str, Any] | None) -> str:
    if figure is None:
        return ""
    return f"{figure['median']:.3g} [{figure['min']:.3g} to {figure['max']:.3g}]"


def with_table(page: str, text: str) -> str:
    """Put the table in its place on the page; at its end where it has none yet."""
    if BEGIN not in page:
        return f"{page.rstrip()}\n\n{BEGIN}\n{text}{END}\n"
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}"


def keep(results: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """Keep results; the table shows all goals in order, those of earlier runs, too."""
    for result in results:
        write(FIGURES, result)
    known = [found for name in names if (found := read(FIGURES, name)) is not None]
    PAGE.write_text(with_table(PAGE.read_text(), table(known)))
