"""A job of its own inside a container of some platform is not told of that platform's job."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mpiboot import platforms
from mpiboot.errors import ConfigError, UsageError
from mpiboot.model.settings import Settings
from mpiboot.platforms import PLATFORMS, kubexec, mpioperator, trainer
from mpiboot.platforms.protocol import Surroundings
from tests.helpers.operator import IMPLEMENTATIONS, RELEASES, Job

HOSTFILE = "/etc/mpi/hostfile"
# What a launcher's container, or the first one, is told by each platform.
PLACES: dict[str, dict[str, str]] = {
    "MPI Operator v1": {
        "OMPI_MCA_plm_rsh_agent": kubexec.AGENT,
        "OMPI_MCA_orte_default_hostfile": HOSTFILE,
    },
    "MPI Operator": {"K_MPI_JOB_ROLE": "launcher", "I_MPI_HYDRA_HOST_FILE": HOSTFILE},
    "Kubeflow Trainer": {"OMPI_MCA_orte_default_hostfile": HOSTFILE},
    "AWS Batch": {
        "AWS_BATCH_JOB_NODE_INDEX": "1",
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
        "AWS_BATCH_JOB_NUM_NODES": "2",
        "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "10.0.0.1",
    },
    "SageMaker": {"SM_HOSTS": '["algo-1", "algo-2"]', "SM_CURRENT_HOST": "algo-1"},
    "Azure Batch": {"AZ_BATCH_IS_CURRENT_NODE_MASTER": "true", "AZ_BATCH_HOST_LIST": "10.0.0.4"},
    "dstack": {"DSTACK_NODES_IPS": "10.0.0.4\n10.0.0.5", "DSTACK_NODE_RANK": "0"},
    "SkyPilot": {"SKYPILOT_NODE_IPS": "10.0.0.4\n10.0.0.5", "SKYPILOT_NODE_RANK": "0"},
    "Volcano": {"VC_TASK_INDEX": "0", "MPI_HOST": "lm-worker-0.lm", "VC_WORKER_HOSTS": "lm-worker-0.lm"},
    "LeaderWorkerSet": {"LWS_LEADER_ADDRESS": "lws-0.lws.ml", "LWS_GROUP_SIZE": "2", "LWS_WORKER_INDEX": "0"},
    "JobSet": {"JOBSET_NAME": "pi-set", "REPLICATED_JOB_NAME": "launcher", "JOB_INDEX": "0", "JOB_COMPLETION_INDEX": "0"},
    "Indexed Job": {"JOB_COMPLETION_INDEX": "0"},
}  # fmt: skip
NAMES = {"MPI Operator v1": "pi-launcher", "MPI Operator": "pi-launcher", "Indexed Job": "pi-0"}
FILES = {HOSTFILE: "pi-node-0-0.pi slots=1\n", kubexec.AGENT: "#!/bin/sh\n"}
ORDINARY = {
    "PATH": "/bin",
    "NCCL_DEBUG": "INFO",
    "OMPI_MCA_btl": "self,tcp",
    "SM_CHANNEL_TRAIN": "/d",
}


class Watched(dict[str, str]):
    """An environment that notes which names are read."""

    def __init__(self, env: Mapping[str, str]) -> None:
        super().__init__(env)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
        self.read.add(name)
        return super().get(name, default)


def around(name: str, env: Mapping[str, str], files: Mapping[str, str]) -> Surroundings:
    return Surroundings(
        env=env, files=files, settings=Settings(), hostname=NAMES.get(name, "pi-launcher-0-0")
    )


def test_every_platform_that_reads_variables_has_its_place() -> None:
    """The places above are those of all platforms, and each is known by its own."""
    assert {one.NAME for one in PLATFORMS if one.VARIABLES} == set(PLACES)
    for platform in PLATFORMS:
        if platform.VARIABLES:
            files = FILES if platform in (kubexec, mpioperator, trainer) else {}
            assert (
                platform.identify(around(platform.NAME, PLACES[platform.NAME], files)) is not None
            )


@pytest.mark.parametrize("name", PLACES)
def test_nothing_of_a_place_is_left(name: str) -> None:
    """No platform knows what is left of its variables; all others are kept."""
    left = platforms.elsewhere({**ORDINARY, **PLACES[name]})
    assert left == ORDINARY
    inside = Surroundings(env=left, files={}, settings=Settings(), hostname="worker-0")
    assert platforms.suggest(inside) == {}
    with pytest.raises(UsageError):
        platforms.identify(inside)


@pytest.mark.parametrize("name", PLACES)
def test_every_variable_that_is_read_is_named(name: str) -> None:
    """A platform that learns to read one more variable says so."""
    env = Watched({"HOME": "/root", **PLACES[name]})
    for platform in PLATFORMS:
        platform.files(Settings(), env)
        here = around(name, env, FILES)
        try:
            platform.identify(here)
            platform.suggest(here)
            platform.source(here)
        except ConfigError:  # of another place: what it has read by then is read
            pass
    env.read.discard("")  # not every MPI has a variable for its slots
    assert set(platforms.elsewhere(dict.fromkeys(env.read, ""))) <= {"HOME"}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_an_operators_words_to_its_mpirun_are_left_out(release: str, implementation: str) -> None:
    """Also those that mpirun reads by itself: the arguments of its ssh, the hostfile, the slots."""
    env = Job(release=release, implementation=implementation).launcher_env()
    left = platforms.elsewhere(env)
    assert all(name.startswith("NVIDIA_") for name in left)
