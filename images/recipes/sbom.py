"""Write the bill of materials of the agent's environment: CycloneDX 1.5, the same for the same parts.

Arguments: what pip reported as it installed the locked packages, and the file to write. Python of the
environment runs it, so that what is listed is what is there.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

OWN = "mpiboot"
_LICENSES = "License :: OSI Approved :: "


def bom(distributions: Mapping[str, metadata.Distribution], hashes: Mapping[str, str]) -> Any:
    """Describe packages, by canonical name, with the SHA-256 of the files that they came from."""
    components = [
        _component(name, one, hashes.get(name, "")) for name, one in sorted(distributions.items())
    ]
    own = next(one for one in components if one["name"] == OWN)
    parts = [one for one in components if one is not own]
    text = json.dumps(components, sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # By content, and no time stamp: the same parts give the same text.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, text)}",
        "version": 1,
        "metadata": {"component": {**own, "type": "application"}},
        "components": parts,
        "dependencies": [
            {
                "ref": _purl(name, one.version),
                "dependsOn": sorted(
                    _purl(need, distributions[need].version)
                    for need in set(_needs(one)) & set(distributions)
                ),
            }
            for name, one in sorted(distributions.items())
        ],
    }


def canonical(name: str) -> str:
    """Spell a package's name as PyPI compares it."""
    return "-".join(name.lower().replace("_", "-").replace(".", "-").split("-"))


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _component(name: str, one: metadata.Distribution, sha256: str) -> dict[str, Any]:
    purl = _purl(name, one.version)
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": one.version,
        "purl": purl,
        "licenses": _licenses(one.metadata),
    }
    if sha256:
        found["hashes"] = [{"alg": "SHA-256", "content": sha256}]
    return found


def _licenses(told: metadata.PackageMetadata) -> list[dict[str, Any]]:
    """Take the SPDX expression where there is one, else the words that the package has for it."""
    expression = told.get("License-Expression")
    if expression:
        return [{"expression": expression}]
    words = [
        line.removeprefix(_LICENSES)
        for line in told.get_all("Classifier") or ()
        if line.startswith(_LICENSES)
    ] or [(told.get("License") or "not told").splitlines()[0]]
    return [{"license": {"name": word}} for word in words]


def _needs(one: metadata.Distribution) -> Iterator[str]:
    for line in one.requires or ():
        word = line.split(";")[0]
        for mark in "<>=!~ [(":
            word = word.split(mark)[0]
        if "extra ==" not in line:
            yield canonical(word)


def hashes_of(report: Mapping[str, Any]) -> dict[str, str]:
    """Read the SHA-256 of each file that pip installed, by canonical name of the package."""
    return {
        canonical(one["metadata"]["name"]): one["download_info"]["archive_info"]["hash"].partition(
            "="
        )[2]
        for one in report["install"]
    }


def main() -> None:
    """Write the bill of what this interpreter finds."""
    report, target = sys.argv[1:]
    found = {canonical(one.metadata["Name"]): one for one in metadata.distributions()}
    document = bom(found, hashes_of(json.loads(Path(report).read_text())))
    Path(target).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
