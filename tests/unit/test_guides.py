"""Guide pages: each block says where it is run, and what is not run here is tested elsewhere."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from mpiboot import cli
from mpiboot.model import flags, options
from mpiboot.model.spec import LAUNCHER, WORKER
from tests.helpers import guides, manifests
from tests.helpers.guides import Block

PAGES = guides.pages()
BLOCKS = [block for page in PAGES for block in guides.blocks(page)]
SHELL = {"sh", "console"}
PLAYED = "".join(path.read_text() for path in (guides.ROOT / "tests/docker").glob("test_*.py"))


def documents(text: str) -> list[Any]:
    return list(yaml.safe_load_all(text))


def of(*kinds: str) -> list[Block]:
    return [block for block in BLOCKS if block.kind in kinds]


def holds(whole: Any, part: Any) -> bool:
    """Tell whether a part, with all that it says, is somewhere in the whole."""
    if says(whole, part):
        return True
    inside = whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()
    return any(holds(one, part) for one in inside)


def says(whole: Any, part: Any) -> bool:
    """Tell whether the whole says each thing that the part says, in the same place."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and says(whole[key], part[key]) for key in part)
    if isinstance(whole, list) and isinstance(part, list):
        return all(any(says(one, wanted) for one in whole) for wanted in part)
    return bool(whole == part)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_block_is_marked(page: Path) -> None:
    """No block is passed over in silence, and a mark is one that the walk knows."""
    found = guides.blocks(page)
    assert found
    assert [f"{block}: {block.mark or 'no mark'}" for block in found if not block.kind] == []


def test_marks_fit_their_blocks() -> None:
    """What is run is a shell's, and output stands behind what was run."""
    assert [str(block) for block in of(*guides.RUN) if block.language not in SHELL] == []
    shown = [block for block in BLOCKS if block.language in {"", "text"}]
    assert [str(block) for block in shown if block.kind != "not run"] == []


@pytest.mark.parametrize("block", of("valid", "not run"), ids=str)
def test_what_is_not_run_is_tested(block: Block) -> None:
    """The test that a mark names exists."""
    path, _, test = block.name.partition("::")
    assert test in guides.tests_in(guides.ROOT / path), block.name


@pytest.mark.parametrize("block", [one for one in of("same as", "file") if one.source], ids=str)
def test_manifests_are_those_that_are_played(block: Block) -> None:
    """A page shows the values of an example that is valid and that a test plays with real containers."""
    text = (guides.ROOT / block.source).read_text()
    assert documents(block.text) == documents(text), f"{block} and {block.source} differ"
    assert block.source.partition("/")[2] in PLAYED


@pytest.mark.parametrize("block", of("part of"), ids=str)
def test_parts_are_in_their_files(block: Block) -> None:
    """Each value of the piece, or each line of it, stands in the file."""
    text = (guides.ROOT / block.name).read_text()
    if block.language == "dockerfile":
        assert set(block.text.splitlines()) <= set(text.splitlines())
        return
    assert all(holds(documents(text), part) for part in documents(block.text))


@pytest.mark.parametrize("block", of("valid"), ids=str)
def test_manifests_are_valid(block: Block) -> None:
    """Each field exists, in that place, with such a value."""
    for document in documents(block.text):
        assert manifests.problems(document) == []


@pytest.mark.parametrize("block", of("forms"), ids=str)
def test_forms_are_taken(block: Block) -> None:
    """Each line is a command of ours with options that it has."""
    lines = [shlex.split(line, comments=True) for line in block.text.splitlines()]
    for program, *words in lines:
        ours, _ = options.split_command(words)
        name = ours.pop(0) if ours and not ours[0].startswith("-") else ""
        assert (program, name or "launcher") in {("mpiboot", one) for one in cli._COMMANDS}
        role = WORKER if name == WORKER else LAUNCHER
        assert flags.parse(flags.parser("guide", role, ""), ours)[1] == [], words


def test_the_index_has_each_guide() -> None:
    """A page with marks is one that the walk takes."""
    marked = {
        path for path in (guides.ROOT / "docs").glob("*.md") if "<!-- walk: " in path.read_text()
    }
    assert marked - set(PAGES) == set()
