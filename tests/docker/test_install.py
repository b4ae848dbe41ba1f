"""`mpiboot install` in images: unchanged commands of both roles, upgrades, and the example Dockerfiles."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.docker.conftest import IMAGE, ROOT, Box, docker
from tests.helpers.mounting import PACKAGE
from tests.helpers.operated import NEEDS_ROOT, Operated
from tests.helpers.operator import Job

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

BASE = os.environ.get("MPIBOOT_TEST_BASE", "debian:bookworm-slim")
EXAMPLES = ROOT / "examples/images"
PROGRAM = "/home/mpiuser/pi"
RING = (ROOT / "tests/helpers/programs/ring.py").read_text()
PODS = {
    "mpijob": Job(),
    "mpijob-v0.3": Job(release="v0.3"),
    "trainjob": Job(release="trainer"),
}
# As the base images of the operator have it for a user other than root.
SSHD_CONFIG = """\
PidFile /home/mpiuser/sshd.pid
HostKey /home/mpiuser/.ssh/id_rsa
StrictModes no
Port 2222
"""
# All that an installation could change in an image: a line for each path. dpkg keeps a copy of the past,
# and writes its list of diversions anew.
LOOK = """
import hashlib, os, pathlib, stat
for top in ("bin", "etc", "lib", "opt", "root", "sbin", "usr", "var"):
    for path in sorted(pathlib.Path("/", top).rglob("*")):
        seen = path.lstat()
        said = [path, oct(seen.st_mode), seen.st_uid, seen.st_gid]
        if stat.S_ISLNK(seen.st_mode):
            said += [os.readlink(path)]
        elif stat.S_ISREG(seen.st_mode):
            said += [path.name == "diversions" or seen.st_mtime_ns]
            said += [hashlib.sha256(path.read_bytes()).hexdigest()]
        if not path.match("dpkg/*-old"):
            print(*said)
"""


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


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One of our images; with a checkout's package in it where that is asked for."""
    if not PACKAGE:
        yield IMAGE
        return
    context = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE, context / "new", ignore=shutil.ignore_patterns("__pycache__"))
    place = "/opt/mpiboot/lib/python3*/site-packages/mpiboot"
    text = (
        f"FROM {IMAGE}\nCOPY new /new\n"
        f"RUN cp -a /new/. {place}/ && python3 -m compileall -q {place} && rm -r /new\n"
    )
    (context / "Dockerfile").write_text(text)
    made = build(context, context / "Dockerfile")
    yield made
    docker("image", "rm", "-f", made)


@pytest.fixture(scope="module", params=["from", "pip"])
def installed(
    request: pytest.FixtureRequest,
    stack: str,
    wheels: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """An image with shims and a program: on one of ours, and on a bare Debian by pip."""
    if request.param == "from":
        first = build(EXAMPLES, EXAMPLES / "from.Dockerfile", BASE=stack)
    else:
        first = build(wheels, EXAMPLES / "pip.Dockerfile", BASE=BASE, PIP_NO_INDEX="1")
    context = tmp_path_factory.mktemp("ring")
    (context / "ring.py").write_text(f"#!/usr/bin/env python3\n{RING}")
    (context / "ring.py").chmod(0o755)
    (context / "sshd_config").write_text(SSHD_CONFIG)
    text = (
        f"FROM {first}\n"
        "RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-mpi4py\n"
        f"COPY ring.py {PROGRAM}\nCOPY sshd_config /home/mpiuser/.sshd_config\nENTRYPOINT []\n"
    )
    (context / "Dockerfile").write_text(text)
    made = build(context, context / "Dockerfile")
    yield made
    docker("image", "rm", "-f", made, first)


def told_by_settings() -> tuple[list[str], list[str]]:
    """Return the options of workers and launcher where people say the role."""
    worker = ["-e", "MPIBOOT_ROLE=worker"]
    return worker, ["-e", "MPIBOOT_ROLE=launcher", "-e", "MPIBOOT_HOSTS=w1:1,w2:1"]


def test_unchanged_commands(box: Box, installed: str) -> None:
    """`/usr/sbin/sshd -De` and `mpirun …` where people say the role: the job runs, and all leave."""
    worker, launcher = told_by_settings()
    for name in ("w1", "w2"):
        box.start(name, "/usr/sbin/sshd", "-De", image=installed, options=worker)
    command = ("mpirun", "-np", "2", "python3", PROGRAM)
    box.start("launcher", *command, image=installed, options=launcher)

    said = lambda: "\n".join(box.logs(name) for name in ("launcher", "w1", "w2"))  # noqa: E731
    assert box.wait("launcher", 90) == 0, said()
    assert {"OK 0/2 w1", "OK 1/2 w2"} <= set(box.logs("launcher").splitlines()), said()
    assert [box.wait(name, 30) for name in ("w1", "w2")] == [0, 0], said()
    assert "a worker serves in its place" in box.logs("w1")


@NEEDS_ROOT
@pytest.mark.parametrize("job", PODS.values(), ids=PODS)
def test_unchanged_pods(box: Box, installed: str, tmp_path: Path, job: Job) -> None:
    """Those of the MPI Operator and of Trainer, without a word about us: wait, run, leave together.

    The launcher comes first, and the name of one worker late.
    """
    pods = Operated(box, "openmpi4", job, tmp_path, built=installed)
    command = ("mpirun", "-n", "2", PROGRAM)
    volume = ("-v", f"{tmp_path}/mpi:/etc/mpi:ro")
    pods.start(job.launcher, "launcher", job.launcher_env(), *command, volumes=volume)
    for name in job.workers:
        pods.start(name, "worker", job.worker_env(), "/usr/sbin/sshd", "-De")
    pods.publish(job.workers[0])
    pods.publish(job.workers[1], after_s=2)

    assert_all_ran(pods)
    assert "a launcher calls it when the workers are there" in box.logs(job.launcher)


@NEEDS_ROOT
def test_the_unchanged_example(box: Box, installed: str, tmp_path: Path) -> None:
    """Its very words, as uid 1000, with the sshd configuration that the operator's base images have."""
    document = yaml.safe_load((ROOT / "examples/kubeflow/mpijob-unchanged.yaml").read_text())
    roles = document["spec"]["mpiReplicaSpecs"]
    words = {}
    for role, spec in roles.items():
        (container,) = spec["template"]["spec"]["containers"]
        assert container["securityContext"] == {"runAsUser": 1000}
        words[role] = [*container["command"], *container["args"]]
    job = Job(name=document["metadata"]["name"], count=roles["Worker"]["replicas"])
    pods = Operated(
        box, "openmpi4", job, tmp_path, built=installed, uid=1000,
        mount=document["spec"]["sshAuthMountPath"],
    )  # fmt: skip
    volume = ("-v", f"{tmp_path}/mpi:/etc/mpi:ro")
    for name in job.workers:
        pods.start(name, "worker", job.worker_env(), *words["Worker"])
        pods.publish(name)
    pods.start(job.launcher, "launcher", job.launcher_env(), *words["Launcher"], volumes=volume)

    assert_all_ran(pods)
    assert "ssh_port 2222" in box.logs(job.workers[0])


def assert_all_ran(pods: Operated) -> None:
    """Assert that a rank has run on each worker, and that all have left."""
    box, job = pods.box, pods.job
    code = box.wait(job.launcher, 90)
    said = "\n".join(box.logs(name) for name in (job.launcher, *job.workers))
    assert code == 0, said
    ring = {f"OK {rank}/{job.count} {name}" for rank, name in enumerate(job.workers)}
    assert ring <= set(box.logs(job.launcher).splitlines()), said
    assert pods.codes() == [0] * job.count, said
    assert "a worker serves in its place" in box.logs(job.workers[0])


def test_a_failure_is_told(box: Box, installed: str) -> None:
    """The unchanged job's own exit code comes out, with the rank that failed."""
    worker, launcher = told_by_settings()
    box.start("w1", "/usr/sbin/sshd", "-De", image=installed, options=worker)
    launcher = [*launcher[:2], "-e", "MPIBOOT_HOSTS=w1:1"]
    command = ("mpirun", "-np", "1", "sh", "-c", "exit 7")
    box.start("launcher", *command, image=installed, options=launcher)

    assert box.wait("launcher", 90) == 7, box.logs("launcher")
    assert "exit 7: rank 0 on w1 ended with 7" in box.logs("launcher")


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


def test_opting_out(installed: str) -> None:
    """MPIBOOT_SHIMS=off goes past all shims, whatever the container's role is."""
    words = "mpirun --allow-run-as-root --oversubscribe -np 2 hostname | wc -l; sshd -De -p x"
    for role in ("launcher", "worker"):
        told = ("-e", f"MPIBOOT_ROLE={role}", "-e", "MPIBOOT_SHIMS=off")
        done = docker("run", "--rm", *told, installed, "sh", "-c", words)
        assert done.stdout == "2\n"
        assert "Bad port number" in done.stderr
        assert "mpiboot" not in done.stderr


def test_there_and_back(stack: str) -> None:
    """Twice is as once, and taken back all is as it was: each byte, mode, owner and time of a file."""
    look = f"python3 -B -c {shlex.quote(LOOK)} >"
    words = (
        f"{look}/0 && mpiboot install && {look}/1 && mpiboot install && {look}/2 &&"
        f" mpiboot uninstall && {look}/3 && diff /1 /2 && ! cmp -s /0 /1 && diff /0 /3"
    )
    done = docker("run", "--rm", "--entrypoint", "sh", stack, "-c", words)
    assert done.returncode == 0, done.stdout + done.stderr


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
    words = "apt-get update -qq && apt-get install -y -qq --reinstall openssh-server"
    (tmp_path / "Dockerfile").write_text(f"FROM {installed}\nRUN {words}\n")
    made = build(tmp_path, tmp_path / "Dockerfile")
    look = "test -x /usr/lib/mpiboot/sshd && head -n 2 /usr/sbin/sshd"
    try:
        assert docker("run", "--rm", made, "mpiboot", "install", "--check").returncode == 0
        seen = docker("run", "--rm", made, "sh", "-c", look)
        assert "mpiboot shim" in seen.stdout
    finally:
        docker("image", "rm", "-f", made)


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


def test_copied_agent_builds(stack: str) -> None:
    """`COPY --from` a stack onto a bare Debian of the same release."""
    made = build(EXAMPLES, EXAMPLES / "copy.Dockerfile", AGENT=stack, BASE=BASE)
    assert docker("run", "--rm", made, "install", "--check").returncode == 0
    docker("image", "rm", "-f", made)
