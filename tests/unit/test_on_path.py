"""A program is found where the standard library would find it, without what that loads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mpiboot.runtime import inspect


def test_as_the_standard_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first that can be executed; no directory, no plain file; a name with a slash is a path."""
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
    for name, mode in (("first/text", 0o644), ("second/text", 0o755), ("second/tool", 0o755),
                       ("tool", 0o755)):  # fmt: skip
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "first/tool").mkdir()
    monkeypatch.chdir(tmp_path)
    both = f"{tmp_path}/first:{tmp_path}/second"
    for path in (both, f"{tmp_path}/first", "", f":{both}", "/nonexistent", "first:second"):
        for name in ("text", "tool", "none", "./tool", str(tmp_path / "second/tool"), "/none"):
            assert inspect.on_path(name, path) == shutil.which(name, path=path), (name, path)
