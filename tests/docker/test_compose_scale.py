"""Compose with any number of workers, started in any order, with and without a count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docker.conftest import Project
from tests.helpers import mounting
from tests.helpers.eventually import eventually

pytestmark = pytest.mark.docker

ALLREDUCE = ("python3", "/opt/mpiboot/share/programs/allreduce.py")


@pytest.fixture
def project(project: Project, tmp_path: Path) -> Project:
    """The project with the package that is tested."""
    mounted = mounting.override(tmp_path / "package.json", "openmpi4", "worker", "launcher")
    return Project(project.name, project.env, [*project.extra, *mounted])


def in_order(project: Project, count: int, order: tuple[str, ...], env: dict[str, str]) -> None:
    """Start the services one after the other, whatever depends on what."""
    project.compose("up", "--exit-code-from", "keys", "keys", timeout=60)
    for service in order:
        scale = ("--scale", f"worker={count}") if service == "worker" else ()
        done = project.compose("up", "-d", "--no-deps", *scale, service, env=env)
        assert done.returncode == 0, done.stderr


def ended(project: Project) -> list[int]:
    return eventually(lambda: project.codes("launcher"), 90)


@pytest.mark.parametrize("order", [("launcher", "worker"), ("worker", "launcher")], ids="-".join)
@pytest.mark.parametrize("count", [1, 3, 8])
def test_scaled_workers_in_any_order(project: Project, count: int, order: tuple[str, ...]) -> None:
    """With MPIBOOT_WORKERS all N take part, whoever starts first; all leave with 0."""
    in_order(project, count, order, {"MPIBOOT_SLOTS": "1", "MPIBOOT_WORKERS": str(count)})
    assert ended(project) == [0], project.logs("launcher")
    assert f"ranks={count} hosts={count}" in project.logs("launcher")
    assert eventually(lambda: project.codes("worker"), 30) == [0] * count


@pytest.mark.parametrize("count", [1, 3])
def test_scaled_workers_without_a_count(project: Project, count: int) -> None:
    """The name's addresses settle on as many as there are, though the launcher came first."""
    in_order(project, count, ("launcher", "worker"), {"MPIBOOT_SLOTS": "1", "MPIBOOT_WORKERS": ""})
    assert ended(project) == [0], project.logs("launcher")
    assert f"ranks={count} hosts={count}" in project.logs("launcher")


def test_workers_that_are_added_one_by_one(project: Project) -> None:
    """Scaled up while the launcher waits: the third makes it start."""
    env = {"MPIBOOT_SLOTS": "1", "MPIBOOT_WORKERS": "3"}
    in_order(project, 1, ("worker", "launcher"), env)
    for count in (2, 3):
        done = project.compose(
            "up",
            "-d",
            "--no-deps",
            "--no-recreate",
            "--scale",
            f"worker={count}",
            "worker",
            env=env,
        )
        assert done.returncode == 0, done.stderr
    assert ended(project) == [0], project.logs("launcher")
    assert "ranks=3 hosts=3" in project.logs("launcher")


def test_a_range_of_container_names(project: Project, tmp_path: Path) -> None:
    """--hosts 'PROJECT-worker-[1-3]' names the containers themselves, in order."""
    hosts = f"{project.name}-worker-[1-3]"
    path = tmp_path / "hosts.json"
    path.write_text(
        json.dumps(
            {
                "services": {
                    "launcher": {
                        "command": ["launcher", "--", *ALLREDUCE],
                        "environment": {"MPIBOOT_HOSTS": hosts},
                    }
                }
            }
        )
    )
    job = Project(project.name, project.env, [*project.extra, "-f", str(path)])
    done = job.compose(
        "up", "--scale", "worker=3", "--exit-code-from", "launcher", env={"MPIBOOT_SLOTS": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ranks=3 hosts=3" in done.stdout
