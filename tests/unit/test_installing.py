"""The tree of an image: what shims find there, and a crash at each single change of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mpiboot.errors import ConfigError
from mpiboot.model.shims import Kind
from mpiboot.roles import install
from mpiboot.runtime import installing
from mpiboot.runtime.installing import Tree

ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
CHANGES = ("write", "move", "remove", "write_record", "remove_empty")


class Crash(BaseException):
    """The process dies here."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An sshd and an mpirun; no other program is asked."""
    monkeypatch.setattr(installing, "can", lambda *_: True)
    for path, text in {"usr/sbin/sshd": "sshd", "usr/bin/orterun": "orterun"}.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True)
        place.write_text(text)
        place.chmod(0o750)
    (tmp_path / "usr/bin/mpirun").symlink_to("orterun")
    return tmp_path


def look(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text() if path.is_file() else ""
        for path in sorted(root.rglob("*"))
    }


def files(root: Path) -> dict[str, str]:
    return {path: text for path, text in look(root).items() if text}


def run(verb: str, root: Path) -> None:
    request = install.parse(verb, ["--root", str(root)])
    if verb == "install":
        install.install(request, ENV, lambda _: None)
    else:
        install.uninstall(request, lambda _: None)


def stands(root: Path) -> bool:
    return install.check(install.parse("install", ["--root", str(root)]), lambda _: None) == 0


def dying_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process die before its change of that number."""
    left = [number]

    def wrapped(change: Callable[..., None]) -> Callable[..., None]:
        def call(*args: object) -> None:
            if not left[0]:
                raise Crash
            left[0] -= 1
            change(*args)

        return call

    for name in CHANGES:
        monkeypatch.setattr(Tree, name, wrapped(getattr(Tree, name)))


@pytest.mark.parametrize("second", ["install", "uninstall"])
@pytest.mark.parametrize("first", ["install", "uninstall"])
def test_a_crash_at_any_change(
    root: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    """Whatever was under way, install and uninstall end as they should, and no file is lost.

    Where the very last step died, empty directories are left: the record of them is gone.
    """
    before = files(root)
    for number in range(40):
        if first == "uninstall":
            run("install", root)
        with monkeypatch.context() as patched:
            dying_at(number, patched)
            try:
                run(first, root)
            except Crash:
                crashed = True
            else:
                crashed = False
        run(second, root)
        if second == "install":
            assert stands(root), number
            run("uninstall", root)
        assert files(root) == before, number
        if not crashed:
            return
    pytest.fail("it never came to an end")


def test_there_and_back(root: Path) -> None:
    """A shim stands for each, the second time changes nothing, and all goes as it came."""
    before = look(root)
    run("install", root)
    once = look(root)
    assert once["usr/lib/mpiboot/sshd"] == "sshd"
    assert (root / "usr/lib/mpiboot/sshd").stat().st_mode & 0o777 == 0o750
    assert "mpiboot shim of /usr/bin/mpirun" in once["usr/local/bin/mpirun"]
    run("install", root)
    assert look(root) == once
    run("uninstall", root)
    assert look(root) == before


def test_what_is_found(root: Path) -> None:
    """Links are followed within the tree; a shim of sshd tells the real one; others are passed over."""
    tree = Tree(root=root)
    run("install", root)
    path = ENV["PATH"].split(":")
    mpirun, sshd = tree.program("mpirun", path), tree.program("sshd", path)
    assert mpirun is not None
    assert (mpirun.path, mpirun.target) == ("/usr/bin/mpirun", "/usr/bin/orterun")
    assert sshd is not None
    assert (sshd.path, sshd.target) == ("/usr/sbin/sshd", "/usr/lib/mpiboot/sshd")
    assert tree.program("horovodrun", path) is None
    assert tree.kind("/usr/local/bin/mpirun") is Kind.OURS
    assert tree.kind("/usr/bin/mpirun") is Kind.OTHER


@pytest.mark.parametrize("text", ["", "{", "[]", '{"shims": [{}]}', '{"shims": [{"place": "x"}]}'])
def test_a_record_that_cannot_be_read(root: Path, text: str) -> None:
    """Its path, and what to do; nothing is touched."""
    run("install", root)
    record = root / "usr/local/lib/mpiboot/installed.json"
    record.write_text(text)
    before = look(root)
    with pytest.raises(ConfigError, match=r"installed\.json cannot be read"):
        run("uninstall", root)
    assert look(root) == before
