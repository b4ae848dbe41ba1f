"""Every example is valid for its platform, and speaks of settings that exist."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from mpiboot import cli
from mpiboot.errors import EXIT_MEANINGS
from mpiboot.model import flags, options
from mpiboot.model.settings import specs
from mpiboot.model.spec import LAUNCHER, WORKER
from tests.helpers import manifests

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
# What is no manifest of a job has tests of its own: tests/unit/test_monitoring.py.
MONITORING = sorted((EXAMPLES / "monitoring").iterdir())
FILES = sorted(set(EXAMPLES.rglob("*.yaml")).difference(MONITORING))
DOCKERFILES = sorted(EXAMPLES.rglob("*.Dockerfile"))
Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Container:
    """A container of an example, as far as mpiboot reads it."""

    words: list[str]
    env: dict[str, str]
    raw: Document


def documents(path: Path) -> list[Document]:
    return list(yaml.safe_load_all(path.read_text()))


def named(path: Path) -> str:
    return str(path.relative_to(EXAMPLES))


def containers(node: Any) -> Iterator[Container]:
    """Yield each part of a document that has a command or an image."""
    if isinstance(node, list):
        for one in node:
            yield from containers(one)
    if not isinstance(node, dict):
        return
    if "image" in node or "runtimeRef" in node:
        part = node.get("trainer", node)
        given = part.get("env") or part.get("environment") or {}
        env = given if isinstance(given, dict) else {one["name"]: one["value"] for one in given}
        env |= {one["name"]: "a-secret-of-a-platform" for one in part.get("secrets", ())}
        words = [*part.get("command", ()), *part.get("args", ())]
        yield Container(words=words, env=env, raw=node)
        return
    for value in node.values():
        yield from containers(value)


@pytest.mark.parametrize("path", FILES, ids=named)
def test_valid(path: Path) -> None:
    """Each field exists, in that place, with such a value."""
    for document in documents(path):
        assert manifests.problems(document) == []


@pytest.mark.parametrize("path", FILES, ids=named)
def test_schemas_can_fail(path: Path) -> None:
    """A field that does not exist is seen, wherever it stands."""
    for document in documents(path):
        for place in objects(document):
            wrong = copy.deepcopy(document)
            target = wrong
            for step in place:
                target = target[step]
            if target_takes_any(place):
                continue
            target["noSuchField"] = "x"
            assert manifests.problems(wrong), place


def target_takes_any(place: tuple[Any, ...]) -> bool:
    """Tell whether names are the user's own there."""
    last = place[-1] if place else ""
    return last in {"labels", "matchLabels", "selector", "limits", "plugins", "environment"} or (
        last in {"services", "depends_on"}
    )


def objects(node: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict):
        yield place
        for key, value in node.items():
            yield from objects(value, (*place, key))
    elif isinstance(node, list):
        for at, value in enumerate(node):
            yield from objects(value, (*place, at))


@pytest.mark.parametrize("path", FILES, ids=named)
def test_settings_exist(path: Path) -> None:
    """The agent takes each container's words and variables: names, values, and who may say them."""
    for document in documents(path):
        for container in containers(document):
            words = [word for word in container.words if word != "mpiboot"]
            if not words or words[0] in {"mpirun", "/usr/sbin/sshd"}:
                assert not container.env
                continue
            ours, command = options.split_command(words)
            role = ours.pop(0) if ours and not ours[0].startswith("-") else ""
            assert role in {"", WORKER, LAUNCHER}
            assert (command is None) == (role == WORKER)
            given, problems = flags.parse(flags.parser("example", role, ""), ours)
            options.resolve(given, container.env, None, problems)


@pytest.mark.parametrize("path", [*FILES, *DOCKERFILES, EXAMPLES / "README.md"], ids=named)
def test_names_in_comments_exist(path: Path) -> None:
    """Each variable and command that the text speaks of exists."""
    text = path.read_text()
    known = {spec.variable for spec in specs()} | {"MPIBOOT_SHIMS"}
    assert set(re.findall(r"MPIBOOT_[A-Z_]+", text)) <= known
    spoken = set(re.findall(r"`mpiboot ([a-z]+)", text))
    assert spoken <= set(cli._COMMANDS)


@pytest.mark.parametrize("path", FILES, ids=named)
def test_platforms_kill_later_than_we_do(path: Path) -> None:
    """Where a grace is given, the agent's own fits in."""
    text = path.read_text()
    own = next(spec.default for spec in specs() if spec.name == "stop_grace_s")
    given = re.findall(r"(?:terminationGracePeriodSeconds|stop_grace_period): (\d+)", text)
    assert all(int(seconds) > own for seconds in given)


OWN_PODS = [path for path in EXAMPLES.rglob("kube*/*.yaml") if "unchanged" not in path.name]


@pytest.mark.parametrize("path", [*OWN_PODS, EXAMPLES / "volcano/job.yaml"], ids=named)
def test_workers_have_what_the_index_recommends(path: Path) -> None:
    """Readiness from a login that worked, and a /dev/shm beyond 64 MB wherever ranks run."""
    every = [one for document in documents(path) for one in containers(document)]
    ranks = [one for one in every if one.raw.get("name") in {"worker", "node"}]
    assert ranks
    for one in ranks:
        assert "/dev/shm" in {mount["mountPath"] for mount in one.raw["volumeMounts"]}
    workers = [one for one in ranks if one.words]
    assert workers
    for one in workers:
        assert one.raw["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": 9650}


@pytest.mark.parametrize("path", FILES, ids=named)
def test_final_codes_are_below_128(path: Path) -> None:
    """A policy that ends a job on a code names codes of ours that mean: a retry will not help."""
    for document in documents(path):
        for codes in final_codes(document):
            assert set(codes) == {int(code) for code in EXIT_MEANINGS if code in (64, 78)}


def final_codes(node: Any) -> Iterator[list[int]]:
    if isinstance(node, list):
        for one in node:
            yield from final_codes(one)
    if isinstance(node, dict):
        if node.get("action") == "FailJob":
            yield node["onExitCodes"]["values"]
        for value in node.values():
            yield from final_codes(value)


def test_index_names_each_example() -> None:
    """examples/README.md links each file, and no other."""
    text = (EXAMPLES / "README.md").read_text()
    linked = {one for one in re.findall(r"\]\(([^)#]+)\)", text) if not one.startswith("..")}
    assert linked == {named(path) for path in (*FILES, *DOCKERFILES, *MONITORING)}
    for link in re.findall(r"\]\((\.\./[^)#]+)\)", text):
        assert (EXAMPLES / link).exists(), link


def test_dockerfiles_need_no_network_at_run_time_and_name_their_bases() -> None:
    """Bases are build arguments, so that any registry serves; ENTRYPOINT is the agent."""
    assert DOCKERFILES
    for path in DOCKERFILES:
        lines = path.read_text().splitlines()
        froms = [line.split()[1] for line in lines if line.startswith("FROM ")]
        stages = {line.split()[3] for line in lines if re.match(r"FROM \S+ AS ", line)}
        assert all(base.startswith("${") or base in stages for base in froms), path
        assert 'ENTRYPOINT ["/usr/local/bin/mpiboot"]' in lines, path


@pytest.mark.parametrize("path", DOCKERFILES, ids=named)
def test_the_agent_comes_from_its_file(path: Path) -> None:
    """Pip is given the wheel, and never a name that an index may have for something else."""
    for words in re.findall(r"pip install (.*)", path.read_text()):
        assert words.split()[-2:] == ["/wheels/mpiboot-*.whl", "\\"]
