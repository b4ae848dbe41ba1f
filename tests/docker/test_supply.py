"""What an image has from PyPI is what the lock says, and its bill of materials tells it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.docker.conftest import docker
from tests.docker.test_images import STACKS, image
from tests.helpers import locks

pytestmark = pytest.mark.docker

BILL = "/opt/mpiboot/share/sbom.cdx.json"
_LIST = (
    "import json; from importlib import metadata;"
    " print(json.dumps({one.metadata['Name']: one.version for one in metadata.distributions()}))"
)


def _run(stack: str, *words: str) -> str:
    first, *rest = words
    argv = ("run", "--rm", "--network", "none", "--entrypoint", first, image(stack), *rest)
    return docker(*argv, check=True).stdout


def _bill(stack: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_run(stack, "cat", BILL))
    return found


def _installed(stack: str) -> dict[str, str]:
    canonical = locks.sbom().canonical
    told = json.loads(_run(stack, "/opt/mpiboot/bin/python", "-I", "-c", _LIST))
    return {canonical(name): version for name, version in told.items()}


@pytest.mark.parametrize("stack", STACKS)
def test_image_holds_exactly_the_lock(stack: str) -> None:
    """The agent's environment has the packages of the lock, with their versions, and ours; no pip."""
    found = _installed(stack)
    assert found.pop("mpiboot")
    assert found == {name: str(pin.version) for name, pin in locks.lock("agent").items()}


@pytest.mark.parametrize("stack", STACKS)
def test_bill_of_materials_tells_what_is_there(stack: str) -> None:
    """Versions are those of the image's own metadata, and each file was one that the lock lets in."""
    bill, pins, found = _bill(stack), locks.lock("agent"), _installed(stack)
    told = {one["name"]: one["version"] for one in bill["components"]}
    own = bill["metadata"]["component"]

    assert {**told, own["name"]: own["version"]} == found
    for one in bill["components"]:
        assert {each["content"] for each in one["hashes"]} <= pins[one["name"]].hashes
        assert len(one["hashes"]) == 1


@pytest.mark.parametrize("stack", STACKS)
def test_bill_of_materials_has_the_fields_of_its_schema(stack: str) -> None:
    """What CycloneDX 1.5 requires is there, in the form that it asks for, and nothing of the hour."""
    bill = _bill(stack)
    parts = [bill["metadata"]["component"], *bill["components"]]
    refs = {one["bom-ref"] for one in parts}

    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert "timestamp" not in bill["metadata"]
    assert len(refs) == len(parts)
    for one in parts:
        assert one["type"] in {"application", "library"}
        assert one["purl"] == f"pkg:pypi/{one['name']}@{one['version']}"
        assert all(set(each) in ({"expression"}, {"license"}) for each in one["licenses"])
        assert one["licenses"]
    for one in bill["dependencies"]:
        assert {one["ref"], *one["dependsOn"]} <= refs
