"""Containers and compose projects of a test: named after it, removed with it, nothing else touched."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGE = os.environ.get("MPIBOOT_IMAGE", "mpiboot/openmpi4:dev")
TEST_IMAGE = "mpiboot/openmpi4-test:dev"


def docker(
    *words: str,
    timeout: float = 120,
    env: Mapping[str, str] | None = None,
    check: bool = False,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a docker command and capture what it says."""
    done = subprocess.run(
        ["docker", *words],
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        env={**os.environ, **(env or {})},
        cwd=ROOT,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


# Files are shared out whole to two processes: a long one that came last would keep the other idle.
_LONGEST = (
    "every_mpi",
    "operator",
    "compose",
    "images",
    "attacker",
    "faults",
    "hostile_places",
    "walk",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest."""
    names = [f"test_{name}.py" for name in _LONGEST]

    def place(item: pytest.Item) -> int:
        return names.index(item.path.name) if item.path.name in names else len(names)

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def _engine() -> None:
    """Skip where no engine answers; fail where the images are not built."""
    if docker("version", timeout=30).returncode != 0:
        pytest.skip("no Docker engine answers on this machine")
    for image in (IMAGE, TEST_IMAGE):
        assert docker("image", "inspect", image).returncode == 0, f"{image}: run `make images`"


@dataclass(frozen=True)
class Project:
    """One compose project."""

    name: str
    env: Mapping[str, str]
    extra: Sequence[str]

    def compose(
        self, *words: str, timeout: float = 120, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        files = ["-f", "docker-compose.test.yml", *self.extra]
        try:
            return docker(
                "compose", "-p", self.name, *files, *words, timeout=timeout,
                env={**self.env, **(env or {})},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            said = "\n".join([*map(self.logs, ("launcher", "worker")), *self._processes()])
            raise AssertionError(f"{' '.join(words)}: not over in {timeout} s\n{said}") from None

    def _processes(self) -> list[str]:
        """Show what runs in the project's containers: where a job hangs, this tells who does."""
        label = f"label=com.docker.compose.project={self.name}"
        ids = docker("ps", "-q", "--filter", label).stdout.split()
        return [docker("top", one, "-eo", "pid,ppid,stat,wchan:20,args").stdout for one in ids]

    def containers(self, service: str) -> list[dict[str, Any]]:
        """Inspect the containers of a service, ended ones too."""
        label = f"label=com.docker.compose.project={self.name}"
        mine = f"label=com.docker.compose.service={service}"
        ids = docker("ps", "-aq", "--filter", label, "--filter", mine, check=True).stdout.split()
        if not ids:
            return []
        found: list[dict[str, Any]] = json.loads(docker("inspect", *ids, check=True).stdout)
        return found

    def codes(self, service: str) -> list[int]:
        """Return the exit codes of a service's containers, all of which must have ended."""
        states = [one["State"] for one in self.containers(service)]
        assert all(state["Status"] == "exited" for state in states), states
        return [state["ExitCode"] for state in states]

    def logs(self, service: str) -> str:
        done = self.compose("logs", "--no-color", "--no-log-prefix", service)
        return done.stdout + done.stderr

    def with_command(self, directory: Path, *command: str) -> Project:
        """Run another command than the file's, as an override file would."""
        path = directory / "override.json"
        # Compose reads `$` as a variable of its own.
        words = [word.replace("$", "$$") for word in command]
        path.write_text(json.dumps({"services": {"launcher": {"command": words}}}))
        return Project(self.name, self.env, [*self.extra, "-f", str(path)])


@pytest.fixture
def project() -> Iterator[Project]:
    """A compose project of its own name, taken down with its volumes and networks."""
    made = Project(f"mpiboot-{uuid.uuid4().hex[:8]}", {"MPIBOOT_IMAGE": TEST_IMAGE}, [])
    yield made
    docker("compose", "-p", made.name, "-f", "docker-compose.test.yml", "down", "-v", "-t", "3",
           env=made.env)  # fmt: skip


@dataclass
class Box:
    """Containers on a network of their own."""

    run: str
    secret: str

    def start(self, name: str, *words: str, image: str = IMAGE, options: Sequence[str] = ()) -> str:
        """Start a container in the background; its name resolves on the network."""
        whole = f"{self.run}-{name}"
        docker(
            "run", "-d", "--name", whole, "--hostname", name, "--network", self.run,
            "--network-alias", name, "--label", f"mpiboot.test={self.run}",
            "-e", f"MPIBOOT_SECRET={self.secret}", *options, image, *words, check=True,
        )  # fmt: skip
        return whole

    def wait(self, name: str, timeout: float = 60) -> int:
        """Return a container's exit code."""
        done = docker("wait", f"{self.run}-{name}", timeout=timeout, check=True)
        return int(done.stdout)

    def logs(self, name: str) -> str:
        done = docker("logs", f"{self.run}-{name}", check=True)
        return done.stdout + done.stderr

    def state(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            docker("inspect", f"{self.run}-{name}", check=True).stdout
        )[0]["State"]
        return found

    def exec(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        return docker("exec", f"{self.run}-{name}", *words)

    def stop(self, name: str, grace: int = 10) -> float:
        """`docker stop`; return the seconds that it took."""
        begun = time.monotonic()
        docker("stop", "-t", str(grace), f"{self.run}-{name}", check=True)
        return time.monotonic() - begun


@pytest.fixture
def box() -> Iterator[Box]:
    """A network and the containers that a test puts on it; all removed at the end."""
    made = Box(f"mpiboot-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex)
    docker("network", "create", "--internal", "--label", f"mpiboot.test={made.run}", made.run,
           check=True)  # fmt: skip
    yield made
    ids = docker("ps", "-aq", "--filter", f"label=mpiboot.test={made.run}").stdout.split()
    if ids:
        docker("rm", "-f", *ids)
    docker("network", "rm", made.run)
