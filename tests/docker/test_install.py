"""`mpiboot install` in images: unchanged commands of both roles, upgrades, and the example Dockerfiles."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker.conftest import IMAGE, ROOT, Box, docker

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

BASE = os.environ.get("MPIBOOT_TEST_BASE", "debian:bookworm-slim")
EXAMPLES = ROOT / "examples/images"
PROGRAM = "/opt/ring.py"
RING = (ROOT / "tests/helpers/programs/ring.py").read_text()
# As the operator gives it to a launcher, since v0.5.
OPERATOR = {
    "K_MPI_JOB_ROLE": "launcher",
    "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
    "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
    "OMPI_MCA_orte_set_default_slots": "1",
}
HAS_OPERATOR = importlib.util.find_spec("mpiboot.platforms.mpioperator") is not None


def build(context: Path, dockerfile: Path, **arguments: str) -> str:
    """Build an image of its own name; `--network host`, for apt alone needs it."""
    name = f"mpiboot-test-{uuid.uuid4().hex[:8]}"
    words = [word for key, value in arguments.items() for word in ("--build-arg", f"{key}={value}")]
    done = docker(
        "build", "--network", "host", "-t", name, "-f", str(dockerfile), *words, str(context),
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return name


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A context with this checkout's wheel and all that it needs: pip in the build has no network."""
    place = tmp_path_factory.mktemp("dist")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    for words in (
        ["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(place), str(ROOT)],
        ["download", "-q", "--only-binary", ":all:", "--python-version", "3.11", "--find-links",
         str(place), "-d", str(place), "mpiboot"],
    ):  # fmt: skip
        subprocess.run([*pip, *words], check=True, timeout=300)
    return place


@pytest.fixture(scope="module", params=["from", "pip"])
def installed(
    request: pytest.FixtureRequest, wheels: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """An image with shims: on one of ours, and on a bare Debian by pip."""
    if request.param == "from":
        first = build(EXAMPLES, EXAMPLES / "from.Dockerfile", BASE=IMAGE)
    else:
        first = build(wheels, EXAMPLES / "pip.Dockerfile", BASE=BASE, PIP_NO_INDEX="1")
    context = tmp_path_factory.mktemp("ring")
    (context / "ring.py").write_text(RING)
    mpi4py = (
        "RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-mpi4py"
    )
    text = f"FROM {first}\n{mpi4py}\nCOPY ring.py {PROGRAM}\nENTRYPOINT []\n"
    (context / "Dockerfile").write_text(text)
    made = build(context, context / "Dockerfile")
    yield made
    docker("image", "rm", "-f", made, first)


def told_by_settings(box: Box) -> tuple[list[str], list[str]]:
    """Return the options of workers and launcher where people say the role."""
    worker = ["-e", "MPIBOOT_ROLE=worker"]
    return worker, ["-e", "MPIBOOT_ROLE=launcher", "-e", "MPIBOOT_HOSTS=w1:1,w2:1"]


def told_by_operator(box: Box, tmp_path: Path) -> tuple[list[str], list[str]]:
    """Return those where the MPI Operator does: keys and hostfile in files, the rest in variables."""
    keys = tmp_path / "ssh"
    keys.mkdir()
    private = keys / "id_rsa"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "521", "-m", "PEM", "-N", "", "-f", private],
        check=True, timeout=20,
    )  # fmt: skip
    (keys / "authorized_keys").write_text((keys / "id_rsa.pub").read_text())
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("w1 slots=1\nw2 slots=1\n")
    mounts = ["-v", f"{keys}:/root/.ssh:ro", "-e", "MPIBOOT_SECRET="]
    variables = [word for name, value in OPERATOR.items() for word in ("-e", f"{name}={value}")]
    worker = [*mounts, "-e", "K_MPI_JOB_ROLE=worker"]
    return worker, [*mounts, "-v", f"{hostfile}:/etc/mpi/hostfile:ro", *variables]


@pytest.mark.parametrize("told", ["settings", "operator"])
def test_unchanged_commands(box: Box, installed: str, told: str, tmp_path: Path) -> None:
    """`/usr/sbin/sshd -De` and `mpirun …`, as in an MPIJob: the job runs, and all leave with it."""
    if told == "operator":
        if not HAS_OPERATOR:
            pytest.skip("this tree does not know the MPI Operator")
        worker, launcher = told_by_operator(box, tmp_path)
    else:
        worker, launcher = told_by_settings(box)
    for name in ("w1", "w2"):
        box.start(name, "/usr/sbin/sshd", "-De", image=installed, options=worker)
    command = ("mpirun", "-np", "2", "python3", PROGRAM)
    box.start("launcher", *command, image=installed, options=launcher)

    said = lambda: "\n".join(box.logs(name) for name in ("launcher", "w1", "w2"))  # noqa: E731
    assert box.wait("launcher", 90) == 0, said()
    assert {"OK 0/2 w1", "OK 1/2 w2"} <= set(box.logs("launcher").splitlines()), said()
    assert [box.wait(name, 30) for name in ("w1", "w2")] == [0, 0], said()
    assert "a worker serves in its place" in box.logs("w1")


def test_a_failure_is_told(box: Box, installed: str) -> None:
    """The unchanged job's own exit code comes out, with the rank that failed."""
    worker, launcher = told_by_settings(box)
    box.start("w1", "/usr/sbin/sshd", "-De", image=installed, options=worker)
    launcher = [*launcher[:2], "-e", "MPIBOOT_HOSTS=w1:1"]
    command = ("mpirun", "-np", "1", "sh", "-c", "exit 7")
    box.start("launcher", *command, image=installed, options=launcher)

    assert box.wait("launcher", 90) == 7, box.logs("launcher")
    assert "rank 0 on w1" in box.logs("launcher")


def test_no_role(installed: str) -> None:
    """Where nobody tells a role all is as ever: questions, a local job, an sshd that is a plain one."""
    words = (
        "mpirun --version | head -n 1; mkdir -p /run/sshd; ssh-keygen -A >/dev/null;"
        " sshd -t && mpirun --allow-run-as-root --oversubscribe -np 2 hostname | wc -l"
    )
    done = docker("run", "--rm", installed, "sh", "-c", words)
    assert done.returncode == 0, done.stderr
    assert "Open MPI" in done.stdout
    assert done.stdout.splitlines()[-1] == "2"
    assert "mpiboot" not in done.stdout + done.stderr


def test_uninstall(installed: str) -> None:
    """The package's sshd is back in its place, mode and all, and no shim is left."""
    words = (
        "mpiboot uninstall >/dev/null && dpkg --verify openssh-server | grep /usr/sbin/sshd;"
        " dpkg-divert --list | grep sshd; grep -rl 'mpiboot shim' /usr/local/bin /usr/local/sbin"
        " /usr/sbin; ls /usr/lib/mpiboot 2>/dev/null; true"
    )
    done = docker("run", "--rm", installed, "sh", "-c", words)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_an_upgrade_of_the_package(installed: str, tmp_path: Path) -> None:
    """An upgrade puts a new sshd aside, behind the shim, which stays."""
    words = (
        "apt-get update -qq && apt-get install -y -qq --reinstall openssh-server"
        " && mpiboot install --check && test -x /usr/lib/mpiboot/sshd"
        " && head -n 2 /usr/sbin/sshd | grep -q 'mpiboot shim'"
    )
    (tmp_path / "Dockerfile").write_text(f"FROM {installed}\nRUN {words}\n")
    docker("image", "rm", "-f", build(tmp_path, tmp_path / "Dockerfile"))


@pytest.mark.parametrize(("name", "without"), [("gpu", "NCCL"), ("efa", "EFA")])
def test_examples_build_their_cpu_part(wheels: Path, name: str, without: str) -> None:
    """Where their bases cannot be pulled, ours do; the agent runs, and the shims come first."""
    arguments = {"BASE": BASE, "PIP_NO_INDEX": "1", without: ""}
    made = build(wheels, EXAMPLES / f"{name}.Dockerfile", **arguments)
    try:
        assert docker("run", "--rm", made, "version", check=True).stdout.startswith("mpiboot ")
        checked = docker("run", "--rm", made, "install", "--check")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        seen = docker(
            "run", "--rm", "--entrypoint", "sh", made, "-c", 'head -n 2 "$(which mpirun)"'
        )
        assert "mpiboot shim of" in seen.stdout
    finally:
        docker("image", "rm", "-f", made)


def test_copied_agent_builds() -> None:
    """`COPY --from` a stack onto a bare Debian of the same release."""
    made = build(EXAMPLES, EXAMPLES / "copy.Dockerfile", AGENT=IMAGE, BASE=BASE)
    assert docker("run", "--rm", made, "install", "--check").returncode == 0
    docker("image", "rm", "-f", made)
