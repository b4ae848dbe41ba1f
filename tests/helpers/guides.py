"""Guide pages as data: their fenced blocks, and the mark before each that says where it is run.

A mark is an HTML comment on the line before the fence, so that readers of the page do not see it:

    <!-- walk: host -->                  in a new directory on this machine, which has Docker
    <!-- walk: checkout -->              the same, and the directory is a checkout of this repository
    <!-- walk: machine -->               as root in a checkout, on a Debian that has only `make`
    <!-- walk: container openmpi4 -->    in a container of that stack
    <!-- walk: host, exit 240 -->        any of these, where the last command shall end with a code
    <!-- walk: file compose.yaml -->     no commands: the blocks after it find it as this file
    <!-- walk: file X from FILE -->      the same, and its values are those of FILE
    <!-- walk: same as FILE -->          YAML or JSON whose values are those of a file that a test plays
    <!-- walk: part of FILE -->          a piece of it; of a Dockerfile: its lines
    <!-- walk: valid, PATH::TEST -->     a manifest that keeps to its schema; the test plays such pods
    <!-- walk: forms -->                 words that mpiboot takes, to choose from and not to paste
    <!-- walk: not run: WHY, PATH::TEST --> and the test that does what the page says

A `text` block shows what came of the block before it.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs/guides.md"
RUN = ("host", "checkout", "machine", "container")

_FENCE = re.compile(r"^( *)```(\w*)$")
_MARK = re.compile(r"^ *<!-- walk: (.+) -->$")
_PLACE = re.compile(
    r"(?P<kind>host|checkout|machine|container (?P<stack>\S+))(, exit (?P<code>\d+))?"
)
_FILE = re.compile(r"(?P<kind>file|same as|part of) (?P<name>\S+)( from (?P<source>\S+))?")
_TESTED = re.compile(r"(?P<kind>valid|not run: .+?), (?P<name>\S+::\w+)")


@dataclass(kw_only=True)
class Block:
    """A fenced block of a page.

    Attributes:
        page: where it stands, relative to the repository.
        line: of its fence, from 1.
        language: what the fence says.
        text: without the fence's own indentation.
        mark: what its mark says, word for word; empty: it has none.
        kind: of the mark: one of RUN, `file`, `same as`, `part of`, `valid`, `forms`, `not run`; empty: unknown.
        name: the mark's stack, file or test.
        source: the file of this repository that it shows.
        code: what the last command shall end with.
        shown: what the page says comes of it.
    """

    page: str
    line: int
    language: str
    text: str
    mark: str
    kind: str = ""
    name: str = ""
    source: str = ""
    code: int = 0
    shown: list[Block] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.mark == "forms":
            self.kind = self.mark
        elif place := _PLACE.fullmatch(self.mark):
            self.kind = place["kind"].split()[0]
            self.name = place["stack"] or ""
            self.code = int(place["code"] or 0)
        elif file := _FILE.fullmatch(self.mark):
            self.kind, self.name = file["kind"], file["name"]
            self.source = file["source"] or ("" if self.kind == "file" else self.name)
        elif tested := _TESTED.fullmatch(self.mark):
            self.kind, self.name = tested["kind"].partition(":")[0], tested["name"]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """Return a page's blocks in order; what a `text` block shows belongs to the one before it."""
    found: list[Block] = []
    lines = iter(enumerate(page.read_text().splitlines(), 1))
    name, mark = os.path.relpath(page, ROOT), ""
    for number, line in lines:
        if fence := _FENCE.match(line):
            inside = itertools.takewhile(f"{fence[1]}```".__ne__, (text for _, text in lines))
            text = textwrap.dedent("\n".join(inside)) + "\n"
            one = Block(page=name, line=number, language=fence[2], text=text, mark=mark)
            if one.language == "text" and not mark and found and found[-1].kind in RUN:
                found[-1].shown.append(one)
            else:
                found.append(one)
        said = _MARK.match(line)
        mark = said[1] if said else ""
    return found


def pages() -> list[Path]:
    """Return README, the index of guides, and each page that stands in its tables."""
    linked = re.findall(r"^\|.*?\]\(([\w/.-]+\.md)", INDEX.read_text(), re.MULTILINE)
    return [ROOT / "README.md", INDEX, *(INDEX.parent / name for name in dict.fromkeys(linked))]


def tests_in(path: Path) -> set[str]:
    """Return the names of a file's tests; none where there is no such file."""
    if not path.is_file():
        return set()
    tree = ast.parse(path.read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, functions)}
