"""The images' locks: everything pinned and hashed, within what pyproject.toml allows, without known holes."""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.helpers import locks
from tests.helpers.locks import LOCKS, ROOT

NAMES = sorted(path.stem for path in LOCKS.glob("*.txt"))
RECIPES = (ROOT / "images/recipes/mpi", ROOT / "images/recipes/horovod")
_BAD = """\
paramiko==3.3.1 \\
    --hash=sha256:00
cryptography==42.0.4 \\
    --hash=sha256:00
"""


def _needed(table: str) -> list[Requirement]:
    """Read a list of requirements of pyproject.toml; Python 3.10 has no reader for it."""
    text = (ROOT / "pyproject.toml").read_text()
    found = re.search(rf"^{table} = (\[.*?\])$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return [Requirement(one) for one in yaml.safe_load(found[1])]


def _advisories() -> list[dict[str, str]]:
    text = (ROOT / "images/advisories.toml").read_text()
    return [
        dict(re.findall(r'^(\w+) = "(.*)"$', part, re.MULTILINE))
        for part in text.split("[[advisory]]")[1:]
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_package_has_one_version_and_hashes(name: str) -> None:
    """No lock lets in a range, a link, or a file that nobody has hashed."""
    pins = locks.lock(name)
    assert pins
    for pin in pins.values():
        assert str(pin.version)
        assert pin.requirement.url is None
        assert pin.hashes
        assert all(re.fullmatch("[0-9a-f]{64}", one) for one in pin.hashes)


@pytest.mark.parametrize(("name", "table"), [("agent", "dependencies"), ("build", "requires")])
def test_lock_satisfies_pyproject(name: str, table: str) -> None:
    """What the image has is what pyproject.toml asks for."""
    pins = locks.lock(name)
    for one in _needed(table):
        assert one.specifier.contains(str(pins[one.name].version)), one


@pytest.mark.parametrize("path", sorted(LOCKS.glob("*.in")), ids=lambda path: path.stem)
def test_lock_satisfies_its_source(path: Path) -> None:
    """A version that was changed in the source is renewed in the lock."""
    pins = locks.lock(path.stem)
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    for one in map(Requirement, lines):
        assert one.specifier.contains(str(pins[one.name].version)), one


def test_images_install_from_locks_alone() -> None:
    """Each `pip install` names a lock and asks for hashes; the framework without an index of its own is told."""
    texts = [path.read_text().replace("\\\n", " ") for path in RECIPES]
    texts.append((ROOT / "images/Dockerfile").read_text().replace("\\\n", " "))
    commands = [one.strip() for text in texts for one in re.split("\n|&&", text)]
    calls = [one for one in commands if "install " in one]
    free = [
        line
        for line in calls
        if re.search(r"\bpip\b.* install|^pip install", line)
        and "--require-hashes" not in line
        and not line.endswith("./*.whl")
    ]
    assert free == [
        "pip install torch==2.13.0+cpu 'numpy<2' 'setuptools<82'",
        "pip install cffi cloudpickle packaging psutil pyyaml wheel",
    ]
    named = {name for text in texts for name in re.findall(r"\blocked ([\w-]+)", text)}
    assert named | {"agent", "build"} == set(NAMES)


def test_no_lock_falls_under_a_known_advisory() -> None:
    """What is known to be broken is not in the images."""
    advisories = _advisories()
    assert all(set(one) == {"id", "package", "fixed_in", "source"} for one in advisories)
    assert [line for name in NAMES for line in _of_ours(name, advisories)] == []


def _of_ours(name: str, advisories: list[dict[str, str]]) -> list[str]:
    return locks.affected(locks.lock(name), advisories)


def test_bad_lock_is_told_in_one_line() -> None:
    """An affected version is named with the advisory and the first version without it."""
    (first, *rest) = locks.affected(locks.read(_BAD), _advisories())
    assert first.startswith("paramiko 3.3.1 has CVE-2023-48795: 3.4.0 is the first without it")
    assert [line.split(":")[0] for line in rest] == ["cryptography 42.0.4 has CVE-2024-12797"]


def test_bill_of_materials_is_the_same_for_the_same_parts() -> None:
    """Two bills of one environment are the same text: no time stamps, no order by chance."""
    sbom = locks.sbom()
    found = {name: metadata.distribution(name) for name in ("mpiboot", "paramiko", "psutil")}
    turned = dict(reversed(found.items()))
    hashes = {"paramiko": "ab" * 32}

    first, second = (json.dumps(sbom.bom(one, hashes)) for one in (found, turned))
    assert first == second
    assert json.dumps(sbom.bom(found, {})) != first


def test_bill_of_materials_names_parts_and_needs() -> None:
    """Each part has version, purl, licence and hash; who needs whom is told; ours is the application."""
    sbom = locks.sbom()
    found = {name: metadata.distribution(name) for name in ("mpiboot", "paramiko", "psutil")}
    told = sbom.bom(found, {"paramiko": "ab" * 32})

    part = told["components"][0]
    assert part["purl"] == f"pkg:pypi/paramiko@{found['paramiko'].version}"
    assert part["licenses"]
    assert part["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert told["metadata"]["component"]["type"] == "application"
    needs = {one["ref"].split("@")[0]: one["dependsOn"] for one in told["dependencies"]}
    assert needs["pkg:pypi/mpiboot"] == sorted(one["purl"] for one in told["components"])
