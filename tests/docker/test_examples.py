"""Examples, replayed: each container's very words and variables, with what its platform adds to them."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.docker.conftest import Box, docker
from tests.docker.test_clouds import address_of
from tests.docker.test_images import image
from tests.helpers.eventually import eventually
from tests.helpers.keyfiles import make_key
from tests.helpers.mounting import mounts
from tests.helpers.operated import NEEDS_ROOT, Operated
from tests.helpers.operator import Job
from tests.unit.test_examples import EXAMPLES, ROOT, Container, containers

pytestmark = pytest.mark.docker

STACK = "openmpi4"
TEST_IMAGE = image(STACK, "-test")
# What the examples call their program.
PROGRAM = ("-v", f"{ROOT}/images/programs/allreduce.py:/app/train.py:ro")
ADDED = (*mounts(STACK), *PROGRAM, "-e", "MPIBOOT_SLOTS=1")


def parts(name: str) -> list[Container]:
    """Return the containers of an example, in order."""
    return [
        one
        for part in yaml.safe_load_all((EXAMPLES / name).read_text())
        for one in containers(part)
    ]


def start(box: Box, name: str, one: Container, *options: str) -> None:
    """Start a pod of a container; what it says counts before what a platform adds."""
    said = [word for pair in one.env.items() for word in ("-e", "=".join(pair))]
    if not {"MPIBOOT_SECRET", "MPIBOOT_SECRET_FILE"} & set(one.env):
        said += ["-e", "MPIBOOT_SECRET="]  # the platform brings keys
    box.start(name, *one.words, image=TEST_IMAGE, options=(*ADDED, *options, *said))


def assert_ran(box: Box, launcher: str, workers: Sequence[str], hosts: int) -> None:
    """Assert that the job ran on all hosts and that all have left well."""
    code = box.wait(launcher, 90)
    said = "".join(f"--- {name}\n{box.logs(name)}" for name in (launcher, *workers))
    assert code == 0, said
    assert f"ranks={hosts} hosts={hosts}" in box.logs(launcher), said
    assert [box.wait(name, 30) for name in workers] == [0] * len(workers), said


def assert_ready(box: Box, name: str) -> None:
    """Assert that a worker would take another job."""
    probed = box.exec(name, "mpiboot", "probe", "--for", "ready")
    assert probed.returncode == 0, probed.stdout + probed.stderr


@pytest.fixture
def key(tmp_path: Path) -> tuple[str, ...]:
    """The Secret of the Kubernetes examples, at the path where they mount it."""
    place = tmp_path / "key"
    place.mkdir()
    (place / "secret").write_text(uuid.uuid4().hex)
    return ("-v", f"{place}:/run/secrets/train:ro", "-e", "MPIBOOT_SECRET=")


@NEEDS_ROOT
def test_mpijob(box: Box, tmp_path: Path) -> None:
    """The operator brings role, hosts and keys; the ENTRYPOINT does the rest."""
    launcher, worker = parts("kubeflow/mpijob.yaml")
    job = Job(name="train")
    pods = Operated(box, STACK, job, tmp_path)
    for name in job.workers:
        pods.start(name, "worker", job.worker_env() | worker.env, *worker.words, volumes=PROGRAM)
        pods.publish(name)
    volumes = ("-v", f"{tmp_path}/mpi:/etc/mpi:ro", *PROGRAM)
    env = job.launcher_env() | launcher.env
    pods.start(job.launcher, "launcher", env, *launcher.words, volumes=volumes)
    assert_ran(box, job.launcher, job.workers, 2)


@NEEDS_ROOT
def test_trainjob(box: Box, tmp_path: Path) -> None:
    """A node, and the launcher's pod that is the other one; the TrainJob's words replace ENTRYPOINT."""
    node, _, train = parts("kubeflow/trainjob.yaml")
    job = Job(release="trainer", name="train", count=1, as_worker=True)
    pods = Operated(box, STACK, job, tmp_path, uid=1000, fs_group=1000, mount="/home/mpiuser/.ssh")
    for name in job.workers:
        pods.start(name, "worker", job.worker_env() | node.env, *node.words, volumes=PROGRAM)
        pods.publish(name)
    entrypoint, *words = train.words
    volumes = ("-v", f"{tmp_path}/mpi:/etc/mpi:ro", *PROGRAM, "--entrypoint", entrypoint)
    env = job.launcher_env() | train.env
    pods.start(job.launcher, "launcher", env, *words, volumes=volumes)
    assert_ran(box, job.launcher, job.workers, 2)


@NEEDS_ROOT
def test_volcano(box: Box, tmp_path: Path) -> None:
    """Three pods with one command: the plugins' variables and keys tell who leads whom."""
    launcher, worker = parts("volcano/job.yaml")
    place = tmp_path / "ssh"
    private = make_key(place, "id_rsa", kind="rsa")
    (place / "authorized_keys").write_text(Path(f"{private}.pub").read_text())
    workers = ["train-worker-0", "train-worker-1"]
    told = {
        "VC_LAUNCHER_HOSTS": "train-launcher-0.train", "VC_LAUNCHER_NUM": "1",
        "VC_WORKER_HOSTS": ",".join(f"{name}.train" for name in workers), "VC_WORKER_NUM": "2",
    }  # fmt: skip
    common = [word for pair in told.items() for word in ("-e", "=".join(pair))]
    common += ["-v", f"{place}:/root/.ssh:ro"]
    for index, name in enumerate(workers):
        alias = ("--network-alias", f"{name}.train", "-e", f"VC_TASK_INDEX={index}")
        start(box, name, worker, *common, *alias)
    start(box, "train-launcher-0", launcher, *common, "-e", "VC_TASK_INDEX=0")
    assert_ran(box, "train-launcher-0", workers, 2)


def test_aws_batch(box: Box) -> None:
    """Two nodes with one command; the child knows the main node alone."""
    (node,) = parts("aws-batch/job-definition.yaml")

    def told(index: int) -> list[str]:
        env = {"JOB_MAIN_NODE_INDEX": 0, "JOB_NODE_INDEX": index, "JOB_NUM_NODES": 2}
        return [word for name in env for word in ("-e", f"AWS_BATCH_{name}={env[name]}")]

    start(box, "main", node, *told(0))
    variable = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"
    start(box, "child", node, *told(1), "-e", f"{variable}={address_of(box, 'main')}")
    assert_ran(box, "main", ["child"], 2)


def test_statefulset(box: Box, key: tuple[str, ...]) -> None:
    """Two jobs one after the other on workers that stay, and are ready again in between."""
    worker, launcher = parts("kubernetes/statefulset.yaml")
    workers = ["train-worker-0", "train-worker-1"]
    for name in workers:
        start(box, name, worker, *key, "--network-alias", "train-worker")
    for name in ("train-a", "train-b"):
        start(box, name, launcher, *key)
        assert_ran(box, name, [], 2)
    for name in workers:
        eventually(functools.partial(assert_ready, box, name), 20)
        assert box.state(name)["Status"] == "running"


def test_jobset(box: Box, key: tuple[str, ...]) -> None:
    """All pods come at once, and the workers leave with the launcher."""
    launcher, worker = parts("kubernetes/jobset.yaml")
    start(box, "train-launcher-0-0", launcher, *key, "-e", "JOB_COMPLETION_INDEX=0")
    workers = ["train-worker-0-0", "train-worker-0-1"]
    for index, name in enumerate(workers):
        alias = ("--network-alias", f"{name}.train", "-e", f"JOB_COMPLETION_INDEX={index}")
        start(box, name, worker, *key, *alias)
    assert_ran(box, "train-launcher-0-0", workers, 2)


def test_compose() -> None:
    """`up` with three workers ends with the launcher's code, and all have left."""
    name = f"mpiboot-{uuid.uuid4().hex[:8]}"
    env = {"IMAGE": TEST_IMAGE, "SECRET": uuid.uuid4().hex}
    compose = ("compose", "-p", name, "-f", str(EXAMPLES / "compose/compose.yaml"))
    try:
        up = (*compose, "up", "--scale", "worker=3", "--exit-code-from", "launcher")
        done = docker(*up, env=env, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "hosts=3" in done.stdout
    finally:
        docker(*compose, "down", "-v", "-t", "3", env=env)
