"""AWS Batch and SageMaker, replayed: three containers with what these platforms set in each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.docker.conftest import Box, docker
from tests.docker.test_images import image
from tests.helpers.agents import PROGRAMS
from tests.helpers.mounting import mounts

pytestmark = pytest.mark.docker

STACKS = ("openmpi4", "openmpi5", "mpich")
RING = ("--", "python3", "-u", "/programs/ring.py")
FAILS = ("--", "sh", "-c", "sleep 1; exit 7")
NODES = 3
RESOURCE_CONFIG = "/opt/ml/input/config/resourceconfig.json"


def start(box: Box, stack: str, name: str, command: Sequence[str], *options: str) -> None:
    """Start a node; it has one slot, however many CPUs this machine has."""
    common = ("-v", f"{PROGRAMS}:/programs:ro", "-e", "MPIBOOT_SLOTS=1", *mounts(stack))
    box.start(name, *command, image=image(stack, "-test"), options=(*common, *options))


def start_batch(box: Box, stack: str, command: Sequence[str]) -> list[str]:
    """Start the main node, then the children in no order, as AWS Batch does."""
    main_address: tuple[str, ...] = ()
    for index in (0, 2, 1):
        env = {
            "AWS_BATCH_JOB_ID": f"f6f0f5f9#{index}", "AWS_BATCH_JOB_ATTEMPT": "1",
            "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0", "AWS_BATCH_JOB_NODE_INDEX": str(index),
            "AWS_BATCH_JOB_NUM_NODES": str(NODES),
        }  # fmt: skip
        set_here = (word for name, value in env.items() for word in ("-e", f"{name}={value}"))
        start(box, stack, f"node{index}", command, *set_here, *main_address)
        if not main_address:
            variable = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"
            main_address = ("-e", f"{variable}={address_of(box, 'node0')}")
    return [f"node{index}" for index in range(NODES)]


def address_of(box: Box, name: str) -> str:
    text = docker("inspect", f"{box.run}-{name}", check=True).stdout
    found: str = json.loads(text)[0]["NetworkSettings"]["Networks"][box.run]["IPAddress"]
    return found


def start_sagemaker(box: Box, stack: str, command: Sequence[str], directory: Path) -> list[str]:
    """Start all hosts; their hostnames are others than the names that SageMaker gives them."""
    names = [f"algo-{number}" for number in range(1, NODES + 1)]
    for name in reversed(names):
        path = directory / f"{name}.json"
        path.write_text(
            json.dumps({
                "current_host": name, "current_instance_type": "ml.c5.xlarge", "hosts": names,
                "current_group_name": "homogeneousCluster", "network_interface_name": "eth0",
                "instance_groups": [{
                    "instance_group_name": "homogeneousCluster", "hosts": names,
                    "instance_type": "ml.c5.xlarge",
                }],
            })
        )  # fmt: skip
        path.chmod(0o644)
        hostname = ("--hostname", f"ip-10-0-0-{name.removeprefix('algo-')}")
        start(box, stack, name, command, *hostname, "-v", f"{path}:{RESOURCE_CONFIG}:ro")
    return names


def ends(box: Box, names: Sequence[str]) -> list[int]:
    """Wait for all, the first one first, and show their logs where a test fails."""
    codes = [box.wait(name, 120) for name in names]
    print("".join(f"--- {name}\n{box.logs(name)}" for name in names))  # noqa: T201
    return codes


def ranks(box: Box, name: str) -> list[str]:
    return sorted(line for line in box.logs(name).splitlines() if line.startswith("OK "))


@pytest.mark.parametrize("stack", STACKS)
def test_aws_batch(box: Box, stack: str) -> None:
    """Ranks run on all nodes in the order of their indexes, the main node among them; all end with 0."""
    nodes = start_batch(box, stack, RING)
    assert ends(box, nodes) == [0, 0, 0]
    assert ranks(box, "node0") == [f"OK {number}/3 node{number}" for number in range(NODES)]


@pytest.mark.parametrize("stack", STACKS)
def test_aws_batch_failure(box: Box, stack: str) -> None:
    """The main node's code, which Batch judges by, is the job's; the children leave with 0."""
    nodes = start_batch(box, stack, FAILS)
    assert ends(box, nodes) == [7, 0, 0]


@pytest.mark.parametrize("stack", STACKS)
def test_sagemaker(box: Box, stack: str, tmp_path: Path) -> None:
    """The first host leads and works, though its hostname is another one; all end with 0."""
    hosts = start_sagemaker(box, stack, RING, tmp_path)
    assert ends(box, hosts) == [0, 0, 0]
    assert ranks(box, "algo-1") == [f"OK {n}/3 ip-10-0-0-{n + 1}" for n in range(NODES)]


@pytest.mark.parametrize("stack", STACKS)
def test_sagemaker_failure(box: Box, stack: str, tmp_path: Path) -> None:
    """The job's own code ends the first host, and with it the training job."""
    hosts = start_sagemaker(box, stack, FAILS, tmp_path)
    assert ends(box, hosts) == [7, 0, 0]
