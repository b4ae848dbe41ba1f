"""Wheel and sdist in clean Debians, with the sources gone: installed, used for a real job, and removed."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpiboot import __version__
from mpiboot.report import schema
from tests.docker.conftest import Box, docker
from tests.docker.test_install import build
from tests.helpers.packages import BUILT, ROOT, SDIST, WHEEL
from tests.helpers.packages import build as build_packages
from tests.helpers.schema import problems

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

# Debian's release, its Python, and the stack whose image has the same packages of it.
DEBIANS = {"bookworm": ("3.11", "openmpi4"), "trixie": ("3.13", "openmpi5")}
VENV = "/opt/agent"
# What people install for an MPI job, and venv for the agent; the same words for both releases.
SYSTEM = """\
FROM {base}
RUN rm -rf /opt/mpiboot /usr/local/bin/mpiboot /usr/share/bash-completion/completions/mpiboot \\
 && export DEBIAN_FRONTEND=noninteractive \\
 && apt-get update -qq \\
 && apt-get install -y -qq --no-install-recommends \\
      openmpi-bin openssh-client openssh-server python3 python3-venv \\
 && rm -rf /etc/ssh/ssh_host_* /var/lib/apt/lists/* /var/cache/apt/*
ENTRYPOINT []
"""
INSTALL = (
    f"python3 -m venv {VENV}"
    f" && {VENV}/bin/pip install -q --no-cache-dir --no-index --find-links /dist /dist/"
)
INSTALLED = f"""\
FROM {{system}}
COPY . /dist
RUN {INSTALL}{WHEEL} && rm -r /dist
ENV PATH={VENV}/bin:$PATH
"""
# Everything that bears our name, wherever it is.
LOOK = "find / -xdev -iname '*mpiboot*' -not -path '/proc/*' -not -path '/sys/*'"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel and sdist, and all that either needs, for both Pythons: the containers have no network."""
    place = tmp_path_factory.mktemp("dist")
    if BUILT:
        for name in (WHEEL, SDIST):
            (place / name).write_bytes((Path(BUILT) / name).read_bytes())
    else:
        build_packages(ROOT, place)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q")
    for python, _ in DEBIANS.values():
        words = ("--only-binary", ":all:", "--python-version", python, "-d", str(place))
        subprocess.run(
            [*pip, *words, str(place / WHEEL), "hatchling>=1.27"], check=True, timeout=300
        )
    return place


@pytest.fixture(scope="module", params=DEBIANS)
def system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A Debian with what an MPI job needs, and without an agent.

    For a release it is made of the bare base. Else it begins with the image of a stack, less the
    agent: the same packages, which took a minute to install, are there already.
    """
    suite = request.param
    base = f"debian:{suite}-slim" if BUILT else f"mpiboot/{DEBIANS[suite][1]}:dev"
    context = tmp_path_factory.mktemp("system")
    (context / "Dockerfile").write_text(SYSTEM.format(base=base))
    made = build(context, context / "Dockerfile")
    yield made
    docker("image", "rm", "-f", made)


@pytest.fixture(scope="module")
def installed(system: str, dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image with the wheel in a virtual environment; nothing of the tree is in it."""
    file = tmp_path_factory.mktemp("installed") / "Dockerfile"
    file.write_text(INSTALLED.format(system=system))
    made = f"mpiboot-test-{uuid.uuid4().hex[:8]}"
    words = ("--network", "none", "-t", made, "-f", str(file), str(dist))
    done = docker("build", *words, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    yield made
    docker("image", "rm", "-f", made)


def run(image: str, script: str, *options: str) -> str:
    """Run a script in a container without a network; return its stdout."""
    secret = ("-e", f"MPIBOOT_SECRET={uuid.uuid4().hex}")
    words = (*secret, *options, image, "sh", "-euc", script)
    done = docker("run", "--rm", "--network", "none", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_speaks(installed: str) -> None:
    """Version, schemas, settings and the diagnosis are those of the package, and pip has no complaint."""
    calls = [
        *("mpiboot --version", "mpiboot version --json", "mpiboot doctor --role worker --json"),
        *("mpiboot config", "mpiboot completion bash >x; bash -n x; cat x", "pip check"),
        *(f"mpiboot schema {name}" for name in schema.SHIPPED),
    ]
    said = run(installed, "; printf '\\0'; ".join(calls)).split("\0")
    version, versions, diagnosis, config, completion, pip, *schemas = said
    assert version == f"mpiboot {__version__}\n"
    found = json.loads(versions)
    assert problems(found, "version") == []
    assert found["executable"].startswith(VENV)
    assert found["mpi"]["version"].startswith("Open MPI ")
    assert found["ssh"]
    assert found["sshd"]
    assert problems(json.loads(diagnosis), "doctor") == []
    assert "lease_timeout " in config
    assert "__mpiboot_options" in completion
    assert pip == "No broken requirements found.\n"
    assert schemas == [schema.text(name) for name in schema.SHIPPED]


def test_it_runs_a_job(box: Box, installed: str) -> None:
    """Two hosts, real sshd and mpirun: the exit code of a job that fails, and then one that succeeds."""
    for name in ("w1", "w2"):
        box.start(name, "mpiboot", "worker", image=installed)
    job = ("mpiboot", "launcher", "--hosts", "w1:1,w2:1", "--workers-leave", "on-success", "--")
    fail = "echo rank $OMPI_COMM_WORLD_RANK on $(hostname); exit $((OMPI_COMM_WORLD_RANK * 7))"
    box.start("first", *job, "sh", "-c", fail, image=installed)
    said = lambda: "\n".join(box.logs(name) for name in ("first", "w1", "w2"))  # noqa: E731
    assert box.wait("first", 90) == 7, said()
    assert {"rank 0 on w1", "rank 1 on w2"} <= set(box.logs("first").splitlines()), said()

    box.start("second", *job, "hostname", image=installed)
    assert box.wait("second", 90) == 0, box.logs("second") + said()
    assert {"w1", "w2"} <= set(box.logs("second").splitlines())
    assert [box.wait(name, 30) for name in ("w1", "w2")] == [0, 0], said()


def test_it_goes_without_a_trace(installed: str) -> None:
    """After use, `pip uninstall` leaves no file that bears our name."""
    use = "mpiboot config >/dev/null; mpiboot doctor --role worker >/dev/null"
    assert run(installed, f"{use}; pip uninstall -q -y mpiboot; {LOOK}") == ""


def test_the_sdist_installs(system: str, dist: Path) -> None:
    """A wheel is built of it there, and pip installs that: the same one that the others test."""
    script = f"{INSTALL}{SDIST}; {VENV}/bin/mpiboot --version; {VENV}/bin/pip check"
    said = run(system, script, "-v", f"{dist}:/dist:ro")
    assert said == f"mpiboot {__version__}\nNo broken requirements found.\n"


def test_as_a_tool_of_uv(dist: Path, tmp_path: Path) -> None:
    """`uv tool install` gives the command, in an environment of its own, and takes it away again."""
    uv = Path(sys.executable).with_name("uv")
    env = {
        "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"), "UV_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip
    words = ("--offline", "--no-index", "--find-links", str(dist), "--python", sys.executable)
    subprocess.run(
        [uv, "tool", "install", "-q", *words, str(dist / WHEEL)], env=env, check=True, timeout=120
    )
    said = subprocess.run(
        [tmp_path / "bin/mpiboot", "--version"], env=env, capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    assert said.stdout == f"mpiboot {__version__}\n"
    subprocess.run([uv, "tool", "uninstall", "-q", "mpiboot"], env=env, check=True, timeout=60)
    assert not (tmp_path / "bin/mpiboot").exists()
