"""Which ranks are meant, as people write it."""

from __future__ import annotations

import pytest

from mpiboot import cli
from mpiboot.model import rankset


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("all", (0, 7, 10**6), ()),
        ("NONE", (), (0, 1)),
        ("first", (0,), (1,)),
        ("3", (3,), (2, 4)),
        ("0,8-15", (0, 8, 15), (1, 7, 16)),
        (" 2 - 2 , 5 ", (2, 5), (3, 4)),
    ],
)
def test_sets(text: str, inside: tuple[int, ...], outside: tuple[int, ...]) -> None:
    """Words, numbers and ranges, both ends meant."""
    found = rankset.read(text)
    assert all(rank in found for rank in inside)
    assert not any(rank in found for rank in outside)
    assert rankset.read(found.text) == found


@pytest.mark.parametrize(
    "text", ["", "some", "-1", "1-", "5-3", "1,,2", "0x1", "²", "99999999", "1-2-3", "all,none"]
)
def test_other_words_are_refused(text: str) -> None:
    """One line: what was given, and what was expected."""
    with pytest.raises(ValueError, match="all, none, first, or ranks as 0,8-15"):
        rankset.read(text)


def test_a_bad_flag_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 for a flag, 78 for a variable, with the name, the value and what it may be, in one line."""
    assert cli.run(["config", "--show-ranks", "3-1"]) == 64
    monkeypatch.setenv("MPIBOOT_SHOW_RANKS", "some")
    assert cli.run(["config"]) == 78
    flag, variable = capsys.readouterr().err.splitlines()
    for line, name, value in (
        (flag, "--show-ranks", "3-1"),
        (variable, "MPIBOOT_SHOW_RANKS", "some"),
    ):
        assert name in line
        assert value in line
        assert "all, none, first, or ranks as 0,8-15" in line
