"""One of a thing is said as one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import mpiboot
from mpiboot.model.counting import counted
from mpiboot.report import troubles

# Things that a job may have one of. A count of them has to go through `counted`.
_THINGS = re.compile(
    r" (?:more )?(?:workers|slots|ranks|hosts|addresses|nodes|attempts|GPUs|times|restarts|pods"
    r"|failures|processes|segments|CPUs)\b"
)
# Never one, or no number of things.
_OTHERS = ("more than {MAX_HOSTS}", "more than {MOST_SHARED}", "slots={", "processes and threads")
_LOGGED = re.compile(f"%[sd]{_THINGS.pattern}")


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("slot",), "0 slots"),
        (1, ("slot",), "1 slot"),
        (2, ("slot",), "2 slots"),
        (1.0, ("CPU",), "1.0 CPU"),
        (1.5, ("CPU",), "1.5 CPUs"),
        (None, ("worker",), "? workers"),
        (1, ("address", "addresses"), "1 address"),
        (3, ("process was", "processes were"), "3 processes were"),
    ],
)
def test_one_is_said_as_one(number: float | None, words: tuple[str, ...], said: str) -> None:
    """One thing has no s, any other number of them has; a verb follows the number."""
    assert counted(number, *words) == said


def test_a_number_is_written_as_it_is_asked_for() -> None:
    """Thousands are parted, and a whole number of CPUs has no point."""
    assert counted(1000, "rank", form=",") == "1,000 ranks"
    assert counted(1.0, "CPU", form="g") == "1 CPU"


def uncounted(source: str) -> list[str]:
    """Return the texts of a module that have the plural of a thing right behind a number."""
    found = []
    for text in ast.walk(ast.parse(source)):
        if isinstance(text, ast.Constant) and _LOGGED.search(str(text.value)):
            found.append(ast.unparse(text))
        for value, words in zip(*(getattr(text, "values", ())[n:] for n in (0, 1)), strict=False):
            if not isinstance(text, ast.JoinedStr) or not isinstance(value, ast.FormattedValue):
                continue
            named = ast.unparse(value.value)
            constant = named.lstrip("_").isupper()  # a bound, which is many
            if isinstance(words, ast.Constant) and _THINGS.match(str(words.value)) and not constant:
                found.append(ast.unparse(text))
    return found


def test_no_message_has_a_plural_behind_a_bare_number() -> None:
    """A message that counts what a job may have one of says "1 slot", wherever it is made."""
    root = Path(mpiboot.__file__).parent
    texts = {path: uncounted(path.read_text()) for path in sorted(root.rglob("*.py"))}
    assert [
        f"{path.relative_to(root)}: {text}"
        for path, found in texts.items()
        for text in found
        if not any(other in text for other in _OTHERS)
    ] == []


def test_a_bare_number_would_be_seen() -> None:
    """What the test above looks for is found where it stands."""
    assert uncounted("f'{x} slots'") == ["f'{x} slots'"]
    assert uncounted("f'{x:,} more failures'") != []
    assert uncounted("logger.info('with %d slots', 2)") == ["'with %d slots'"]
    assert uncounted("f'{_MOST} slots'") == []


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("exit 242: sshd ended with 137, 1 restart is used up", "sshd dies and is started again"),
        ("1 rank is wanted, but the workers have 0 slots; lower -np", "More ranks than slots"),
        ("2 ranks are wanted, but the workers have 1 slot; lower -np", "More ranks than slots"),
    ],
)
def test_a_message_of_one_finds_its_entry(line: str, title: str) -> None:
    """An entry that speaks of several things is found for one of them as well."""
    whole = f"{line}, raise the slots, or allow it with --oversubscribe: w1"
    assert [one.title for one in troubles.of_message(whole, list(troubles.entries()))][:1] == [
        title
    ]
