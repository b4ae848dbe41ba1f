"""The pictures of docs/terminal.md: what is drawn, as SVG. `python -m tests.helpers.pictures` renews them."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from mpiboot.model.facts import Facts
from mpiboot.model.hosts import Host
from mpiboot.plan.gather import Reach, Seen
from mpiboot.report.terminal import awaiting, document, job
from mpiboot.report.terminal.awaiting import Awaited, Wait
from mpiboot.report.terminal.grid import Page
from tests.helpers import jobviews

PLACE = Path(__file__).parents[2] / "docs" / "pictures"
_PAGE = Page(width=104, height=22, unicode=True)
_THEME = TerminalTheme(
    (24, 26, 31), (214, 218, 224),
    [(60, 64, 72), (240, 113, 120), (126, 200, 140), (229, 192, 123),
     (110, 168, 254), (198, 140, 226), (98, 190, 200), (214, 218, 224)],
    [(110, 116, 128), (240, 113, 120), (126, 200, 140), (229, 192, 123),
     (110, 168, 254), (198, 140, 226), (98, 190, 200), (255, 255, 255)],
)  # fmt: skip
# As rich's own, with fonts that are there: a picture in the docs fetches nothing.
_FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" class="rich-terminal" viewBox="0 0 {width} {height}">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


TITLES = {
    "wait": "mpiboot launcher -- python3 train.py",
    "status-running": "mpiboot status --watch",
    "status-failed": "mpiboot status",
}


def pictures() -> dict[str, list[Text]]:
    """Return the lines of each picture by its name."""
    drawn = {
        f"status-{scene}": job.fitting(document.read(jobviews.scene(scene, count)), _PAGE, "")
        for scene, count in (("running", 3), ("failed", 3))
    }
    return {"wait": awaiting.lines(_wait(), _PAGE)[1:], **drawn}  # the first line is blank


def _wait() -> Wait:
    facts = Facts(cpus=8, memory_bytes=64 << 30, gpus=4, mpi="Open MPI 4.1.4")
    late = (
        (3, Reach.KEY_REFUSED, "Permission denied (publickey)"), (5, Reach.REFUSED, "10.0.0.12:22"),
        (6, Reach.NO_NAME, "Name or service not known"), (7, Reach.UNTRIED, ""),
    )  # fmt: skip
    missing = [
        Seen(host=Host(name=f"train-worker-{at}"), reach=reach, detail=detail, since_s=2.0 * at)
        for at, reach, detail in late
    ]
    ready = [
        Seen(host=Host(name=f"train-worker-{at}"), reach=Reach.READY, facts=facts, since_s=9.0 + at)
        for at in (0, 1, 2, 4)
    ]
    rows = [Awaited(seen=one, slots=4 if one.facts else None) for one in (*missing, *ready)]
    return Wait(ready=4, expected=8, known=8, waited_s=41.0, deadline_s=600.0, rows=rows)


def svg(title: str, lines: list[Text]) -> str:
    """Draw lines as a terminal does."""
    console = Console(
        record=True, width=_PAGE.width, file=io.StringIO(), force_terminal=True, legacy_windows=False,
        color_system="truecolor", _environ={},
    )  # fmt: skip
    for line in lines:
        console.print(line, end="\n", soft_wrap=True)
    made = console.export_svg(title=title, theme=_THEME, code_format=_FORMAT, unique_id="terminal")
    return "".join(f"{line.rstrip()}\n" for line in made.splitlines() if line.strip())


def words(picture: str) -> list[str]:
    """Return the words of a picture, in order."""
    pieces = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    return " ".join(html.unescape(piece).replace("\xa0", " ") for piece in pieces).split()


if __name__ == "__main__":
    for name, lines in pictures().items():
        (PLACE / f"{name}.svg").write_text(svg(TITLES[name], lines))
