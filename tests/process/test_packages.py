"""Wheel and sdist: what is in them, that anybody can build the same bytes, and that an index shows them."""

from __future__ import annotations

import email
import subprocess
import zipfile
from email.message import Message
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement
from readme_renderer import markdown

import mpiboot
from tests.helpers.packages import BUILT, ROOT, SDIST, WHEEL, build

PACKAGE = Path(mpiboot.__file__).parent


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist, and the wheel that was built of it."""
    if BUILT:
        return Path(BUILT)
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out)
    return out


@pytest.fixture(scope="module")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist's tree, elsewhere, with modes and times of its own."""
    place = tmp_path_factory.mktemp("elsewhere")
    subprocess.run(["tar", "-xzf", dist / SDIST, "-C", place], check=True, timeout=60)
    (tree,) = place.iterdir()
    for path in tree.rglob("*"):
        if path.is_file():
            path.touch()
    return tree


def _git(*words: str) -> str:
    """Ask git about the checkout; nothing where it is none, or git will not read it."""
    if not (ROOT / ".git").exists():
        return ""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as packed:
        return set(packed.namelist())


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(packed.read(name))


def test_the_same_bytes_again(dist: Path, unpacked: Path, tmp_path: Path) -> None:
    """Of the checkout, and of the sdist at another place, time and umask: each file is the same."""
    build(unpacked, tmp_path / "again", umask=0o077)
    for name in (WHEEL, SDIST):
        assert (tmp_path / "again" / name).read_bytes() == (dist / name).read_bytes(), name
    build(ROOT, tmp_path / "tree", "--wheel")
    assert (tmp_path / "tree" / WHEEL).read_bytes() == (dist / WHEEL).read_bytes()


def test_the_wheel_has_the_package_and_no_more(dist: Path) -> None:
    """Every file of the package, the marker of its types and its schemas among them; no tests."""
    own = {
        f"mpiboot/{path.relative_to(PACKAGE)}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = _names(dist / WHEEL)
    info = {name for name in names if not name.startswith("mpiboot/")}
    if _git("rev-parse", "HEAD"):
        own.add("mpiboot/revision.txt")
    assert names - info == own
    assert {"mpiboot/py.typed", "mpiboot/report/status.schema.json"} <= own
    assert {PurePosixPath(name).name for name in info} == {
        *("METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE")
    }


def test_the_sdist_is_a_tree_to_work_in(unpacked: Path) -> None:
    """All that make, tests and images need is there: every file that git knows, and no other."""
    there = {
        str(path.relative_to(unpacked))
        for path in unpacked.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts  # another test builds there
    }
    assert {"Makefile", "LICENSE", "images/Dockerfile", ".ci/packages"} <= there
    known = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if known:
        names = {name for name in known.split("\0") if (ROOT / name).is_file()}
        assert there == names | {"PKG-INFO", "revision.txt"}


def test_the_revision_is_the_commit(dist: Path, unpacked: Path) -> None:
    """Wheel and sdist name the commit that is checked out, and whether the tree differs from it."""
    with zipfile.ZipFile(dist / WHEEL) as packed:
        names = packed.namelist()
        told = (
            packed.read("mpiboot/revision.txt").decode() if "mpiboot/revision.txt" in names else ""
        )
    head = _git("rev-parse", "HEAD").strip()
    dirty = _git("diff", "HEAD", "--name-only")
    assert told == (f"{head}{'-dirty' * bool(dirty)}\n" if head else "")
    assert not head or (unpacked / "revision.txt").read_text() == told


def test_the_version_has_one_source(dist: Path, unpacked: Path) -> None:
    """What the package says of itself is what the files are called by; pyproject.toml has no other."""
    assert _metadata(dist / WHEEL)["Version"] == mpiboot.__version__
    assert mpiboot.__version__ not in (unpacked / "pyproject.toml").read_text()


def test_an_index_can_show_it(dist: Path) -> None:
    """The README renders, and fields are those that an index takes."""
    found = _metadata(dist / WHEEL)
    assert found["Description-Content-Type"] == "text/markdown"
    rendered = markdown.render(str(found.get_payload()), variant="GFM")
    assert rendered
    assert "<table>" in rendered
    assert len(found["Summary"]) <= 512
    assert "\n" not in found["Summary"]
    assert found["License-Expression"] == "Apache-2.0"
    assert found["License-File"] == "LICENSE"
    assert found["Requires-Python"] == ">=3.10"
    needs = {Requirement(text).name for text in found.get_all("Requires-Dist") or ()}
    assert needs == {"cryptography", "paramiko", "prometheus-client", "psutil", "pyyaml", "rich"}
