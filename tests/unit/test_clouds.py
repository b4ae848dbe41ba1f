"""Volcano, AWS Batch, SageMaker, SkyPilot, dstack, Azure Batch: their environments as they set them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot import platforms
from mpiboot.errors import ConfigError, MpibootError, UsageError
from mpiboot.model import options
from mpiboot.model.announced import Announced
from mpiboot.model.hosts import Host, Listed, Scripted, Source
from mpiboot.model.options import Resolved
from mpiboot.model.settings import Settings, specs
from mpiboot.platforms.protocol import Surroundings

RESOURCE_CONFIG = "/opt/ml/input/config/resourceconfig.json"


def place(
    env: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    hostname: str = "ip-10-0-0-1",
    **settings: object,
) -> Surroundings:
    """Give what a container sees; only files that a platform asks for are there."""
    made, seen = Settings(**settings), env or {}  # type: ignore[arg-type]
    wanted = platforms.wanted_files(made, seen)
    texts = {path: text for path, text in (files or {}).items() if path in wanted}
    return Surroundings(env=seen, files=texts, settings=made, hostname=hostname)


def fitted(around: Surroundings) -> Settings:
    """Give the settings as a role gets them."""
    origins = {
        spec.name: options.DEFAULT
        if getattr(around.settings, spec.name) == spec.default
        else "flag"
        for spec in specs()
    }
    told = platforms.suggest(around)
    resolved = Resolved(settings=around.settings, origins=origins)
    return options.fit(
        resolved, {name: (each.value, each.why) for name, each in told.items()}
    ).settings


def role(around: Surroundings) -> str:
    return platforms.identify(around).role


def found(around: Surroundings) -> Source:
    """Give the source as a launcher finds it, from the settings that it was given."""
    settings = fitted(around)
    return platforms.find_source(
        Surroundings(
            env=around.env, files=around.files, settings=settings, hostname=around.hostname
        )
    )


def listed(*names: str, own: str = "") -> Listed:
    return Listed(hosts=tuple(Host(name=name, here=name == own) for name in names))


def batch(index: int, count: int = 3, main: int = 0) -> dict[str, str]:
    """Give the environment of a node of a multi-node parallel job."""
    env = {
        "AWS_BATCH_CE_NAME": "ce", "AWS_BATCH_JQ_NAME": "queue", "AWS_BATCH_JOB_ATTEMPT": "1",
        "AWS_BATCH_JOB_ID": f"f6f0f5f9-9c6d-4e47-a3f3-0f0b4b8f0d11#{index}",
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": str(main), "AWS_BATCH_JOB_NODE_INDEX": str(index),
        "AWS_BATCH_JOB_NUM_NODES": str(count),
    }  # fmt: skip
    if index != main:
        env["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"] = "10.0.0.10"
    return env


def test_awsbatch_main_node() -> None:
    """It launches, hears the children, and is a node of the job itself."""
    around = place(batch(1, main=1))
    assert role(around) == "launcher"
    assert found(around) == Announced(count=3, own=1)
    assert fitted(around).announce_to == ""


def test_awsbatch_child() -> None:
    """It works, and announces itself with its number to the address that Batch names."""
    around = place(batch(2))
    assert role(around) == "worker"
    settings = fitted(around)
    assert (settings.announce_to, settings.announce_index) == ("10.0.0.10", 2)
    assert settings.hosts == ""
    assert settings.retry_grace_s == 10


def test_awsbatch_users_word() -> None:
    """Hosts that the user names are asked for nobody's announcement."""
    assert found(place(batch(0), hosts="a,b")) == listed("a", "b")
    assert found(place(batch(0), host_script="/h")) == Scripted(command=("/h",), count=None)
    assert found(place(batch(0), {"/h": "a\n"}, hostfile="/h")) == listed("a")
    assert fitted(place(batch(1), announce_to="main")).announce_to == "main"


def test_awsbatch_jobs_of_one_container() -> None:
    """A job that is not multi-node has none of the variables: nothing tells the role."""
    env = {k: v for k, v in batch(0).items() if "NODE" not in k}
    with pytest.raises(UsageError):
        role(place(env))


@pytest.mark.parametrize(
    "change",
    [
        {"AWS_BATCH_JOB_NODE_INDEX": "3"},
        {"AWS_BATCH_JOB_NODE_INDEX": "x"},
        {"AWS_BATCH_JOB_NUM_NODES": "0"},
        {"AWS_BATCH_JOB_NUM_NODES": ""},
        {"AWS_BATCH_JOB_MAIN_NODE_INDEX": "-1"},
    ],
)
def test_awsbatch_numbers_that_cannot_be(change: dict[str, str]) -> None:
    """A contradiction is told by the variable's name."""
    with pytest.raises(ConfigError, match=next(iter(change))):
        role(place(batch(1) | change))


def test_awsbatch_child_that_does_not_know_the_main_node() -> None:
    """One line says which variable is missing, and what to set."""
    env = batch(1) | {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": ""}
    with pytest.raises(ConfigError, match="--announce-to"):
        fitted(place(env))


def resource_config(current: str, count: int = 3, **more: object) -> dict[str, str]:
    """Give the file that SageMaker writes into every container."""
    hosts = sorted(f"algo-{n}" for n in range(1, count + 1))
    return {
        RESOURCE_CONFIG: json.dumps({
            "current_group_name": "homogeneousCluster", "current_host": current,
            "current_instance_type": "ml.c5.xlarge", "hosts": hosts,
            "instance_groups": [{
                "hosts": hosts, "instance_group_name": "homogeneousCluster",
                "instance_type": "ml.c5.xlarge",
            }],
            "network_interface_name": "eth0", "topology": None, **more,
        })
    }  # fmt: skip


def test_sagemaker_first_host() -> None:
    """It launches, and needs no name for itself: its hostname is another one than algo-1."""
    around = place(files=resource_config("algo-1"))
    assert role(around) == "launcher"
    assert found(around) == listed("algo-1", "algo-2", "algo-3", own="algo-1")
    assert fitted(around).interface == "eth0"


def test_sagemaker_other_hosts() -> None:
    """They work."""
    assert role(place(files=resource_config("algo-3"))) == "worker"


def test_sagemaker_order() -> None:
    """algo-2 comes before algo-10: ranks land as people count."""
    source = found(place(files=resource_config("algo-1", 12)))
    assert isinstance(source, Listed)
    assert [host.name for host in source.hosts] == [f"algo-{n}" for n in range(1, 13)]


def test_sagemaker_toolkit_variables() -> None:
    """Without the file, the variables of the training toolkits say the same."""
    env = {
        "SM_HOSTS": '["algo-1","algo-2"]', "SM_CURRENT_HOST": "algo-2",
        "SM_NETWORK_INTERFACE_NAME": "eth1",
    }  # fmt: skip
    assert role(place(env)) == "worker"
    assert fitted(place(env)).interface == "eth1"
    assert fitted(place(env, interface="ib0")).interface == "ib0"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "resourceconfig.json"),
        ("[]", "expected an object"),
        ('{"hosts": [], "current_host": "a"}', "names no hosts"),
        ('{"hosts": ["a b"], "current_host": "a b"}', "not a host name"),
        ('{"hosts": ["a"], "current_host": "b"}', "not one of the hosts"),
        ('{"hosts": ["a"]}', "not one of the hosts"),
        ('{"hosts": ["a"], "current_host": "a", "network_interface_name": 1}', "not a text"),
    ],
)
def test_sagemaker_files_that_cannot_be_read(text: str, told: str) -> None:
    """One line names the file and what is wrong with it."""
    with pytest.raises(ConfigError, match=told):
        role(place(files={RESOURCE_CONFIG: text}))


SKYPILOT = {
    "SKYPILOT_NODE_IPS": "10.1.0.7\n10.1.0.4\n10.1.0.9", "SKYPILOT_NODE_RANK": "0",
    "SKYPILOT_NUM_NODES": "3", "SKYPILOT_NUM_GPUS_PER_NODE": "8",
    "SKYPILOT_TASK_ID": "sky-2026-01-01-00-00-00-000000_cluster_1",
}  # fmt: skip
DSTACK = {
    "DSTACK_GPUS_NUM": "4", "DSTACK_GPUS_PER_NODE": "2", "DSTACK_MASTER_NODE_IP": "10.1.0.7",
    "DSTACK_NODES_IPS": "10.1.0.7\n10.1.0.4\n10.1.0.9", "DSTACK_NODES_NUM": "3",
    "DSTACK_NODE_RANK": "0", "DSTACK_RUN_NAME": "train",
}  # fmt: skip


@pytest.mark.parametrize(
    ("env", "rank", "slots"),
    [(SKYPILOT, "SKYPILOT_NODE_RANK", "8"), (DSTACK, "DSTACK_NODE_RANK", "2")],
)
def test_skypilot_and_dstack(env: dict[str, str], rank: str, slots: str) -> None:
    """Rank 0 launches and runs ranks, too; the others work; the order is the platform's."""
    around = place(env)
    assert role(around) == "launcher"
    assert found(around) == listed("10.1.0.7", "10.1.0.4", "10.1.0.9", own="10.1.0.7")
    assert (fitted(around).slots, fitted(around).ssh_port) == (slots, 2222)
    assert role(place(env | {rank: "2"})) == "worker"
    with pytest.raises(ConfigError, match=rank):
        role(place(env | {rank: "3"}))


def test_nodes_without_gpus() -> None:
    """No GPUs are no slots: those are counted from CPUs then."""
    assert fitted(place(SKYPILOT | {"SKYPILOT_NUM_GPUS_PER_NODE": "0"})).slots == "auto"


def test_a_list_with_written_line_ends() -> None:
    """A backslash and an n are a line end, too."""
    around = place(DSTACK | {"DSTACK_NODES_IPS": "10.1.0.7\\n10.1.0.4"})
    assert found(around) == listed("10.1.0.7", "10.1.0.4", own="10.1.0.7")


AZURE = {
    "AZ_BATCH_HOST_LIST": "10.0.0.5,10.0.0.4", "AZ_BATCH_NODE_LIST": "10.0.0.5;10.0.0.4",
    "AZ_BATCH_MASTER_NODE": "10.0.0.4:6000", "AZ_BATCH_IS_CURRENT_NODE_MASTER": "true",
    "CCP_NODES": "2 10.0.0.5 1 10.0.0.4 1",
}  # fmt: skip


def test_azurebatch() -> None:
    """The master node launches and works; the list's order stays."""
    assert role(place(AZURE)) == "launcher"
    assert found(place(AZURE)) == listed("10.0.0.5", "10.0.0.4", own="10.0.0.4")
    assert fitted(place(AZURE)).ssh_port == 2222
    env = AZURE | {"AZ_BATCH_IS_CURRENT_NODE_MASTER": "false"}
    assert role(place(env)) == "worker"
    env = {k: v for k, v in AZURE.items() if k != "AZ_BATCH_HOST_LIST"}
    assert found(place(env)) == listed("10.0.0.5", "10.0.0.4", own="10.0.0.4")
    with pytest.raises(ConfigError, match="expected true or false"):
        role(place(AZURE | {"AZ_BATCH_IS_CURRENT_NODE_MASTER": "perhaps"}))


def volcano(*tasks: tuple[str, int], job: str = "lm-job", index: int = 0) -> dict[str, str]:
    """Give what svc and env set in each pod of a job."""
    env = {"VC_TASK_INDEX": str(index), "VK_TASK_INDEX": str(index)}
    for task, replicas in tasks:
        key = task.replace("-", "_").upper()
        pods = [f"{job}-{task}-{n}.{job}" for n in range(replicas)]
        env |= {f"VC_{key}_HOSTS": ",".join(pods), f"VC_{key}_NUM": str(replicas)}
    return env


MASTER_AND_WORKERS = volcano(("mpimaster", 1), ("mpi-worker", 2))


def test_volcano_master_and_workers() -> None:
    """The task called master launches, the pods of the other work, in the order of their numbers."""
    around = place(MASTER_AND_WORKERS, hostname="lm-job-mpimaster-0")
    assert role(around) == "launcher"
    workers = ("lm-job-mpi-worker-0.lm-job", "lm-job-mpi-worker-1.lm-job")
    assert found(around) == listed(*workers)
    assert role(place(MASTER_AND_WORKERS, hostname="lm-job-mpi-worker-1")) == "worker"
    assert fitted(around).failure_is_final is False
    assert fitted(around).retry_grace_s > 300


def test_volcano_mpi_plugin() -> None:
    """MPI_HOST is on the master only, and names the workers."""
    env = volcano(("a", 1), ("b", 1)) | {"MPI_HOST": "lm-job-b-0.lm-job"}
    around = place(env, hostname="lm-job-a-0")
    assert role(around) == "launcher"
    assert found(around) == listed("lm-job-b-0.lm-job")


def test_volcano_files_in_place_of_variables() -> None:
    """Where svc sets no variables, its files say the same."""
    files = {
        "/etc/volcano/mpimaster.host": "j-mpimaster-0.j",
        "/etc/volcano/mpiworker.host": "j-mpiworker-0.j\nj-mpiworker-1.j",
    }
    env = {"VC_TASK_INDEX": "0"}
    assert role(place(env, files, hostname="j-mpiworker-0")) == "worker"
    around = place(env, files, hostname="j-mpimaster-0")
    assert role(around) == "launcher"
    assert found(around) == listed("j-mpiworker-0.j", "j-mpiworker-1.j")


def test_volcano_one_task() -> None:
    """The first pod of the only task launches, and its ranks run there, too."""
    env = volcano(("node", 3), job="j")
    assert role(place(env, hostname="j-node-1")) == "worker"
    around = place(env, hostname="j-node-0")
    assert role(around) == "launcher"
    assert found(around) == listed("j-node-0.j", "j-node-1.j", "j-node-2.j", own="j-node-0.j")


def test_volcano_two_tasks_of_one_pod() -> None:
    """Nothing tells which of two equal tasks leads: the user has to; then the other one works."""
    env = volcano(("a", 1), ("b", 1), job="j")
    with pytest.raises(UsageError, match="MPIBOOT_ROLE"):
        role(place(env, hostname="j-a-0"))
    around = place(env, hostname="j-a-0", role="launcher")
    assert found(around) == listed("j-b-0.j")


def test_the_users_hosts_go_before_a_platforms() -> None:
    """Whoever names workers means these."""
    assert found(place(SKYPILOT, hosts="x:2")) == Listed(hosts=(Host(name="x", slots=2),))
    assert found(place(files=resource_config("algo-1"), hosts="x")) == listed("x")


def test_host_scripts() -> None:
    """A program may name the hosts; a count is what --workers says; only one may name them."""
    around = place(host_script="/opt/hosts --all 'a b'", workers=4)
    assert role(around) == "launcher"
    assert found(around) == Scripted(command=("/opt/hosts", "--all", "a b"), count=4)
    for settings, told in (
        ({"host_script": "'x"}, "cannot be split"),
        ({"host_script": " "}, "names no program"),
        ({"host_script": "x", "hosts": "a"}, "both --hosts and --host-script"),
    ):
        with pytest.raises(ConfigError, match=told):
            found(place(**settings))  # type: ignore[arg-type]


variables = st.dictionaries(
    st.sampled_from([*batch(1), *SKYPILOT, *DSTACK, *AZURE, *MASTER_AND_WORKERS, "SM_HOSTS",
                     "SM_CURRENT_HOST", "MPI_HOST"]),
    st.text(max_size=12) | st.sampled_from(["0", "1", "true", "a,b", '["a"]', "10.0.0.1"]),
)  # fmt: skip


@given(variables, st.none() | st.text(max_size=40))
def test_whatever_is_set_is_understood_or_one_clear_error(
    env: dict[str, str], text: str | None
) -> None:
    """No environment makes a platform fall over."""
    around = place(env, {} if text is None else {RESOURCE_CONFIG: text})
    try:
        assert role(around) in ("worker", "launcher")
        found(around)
    except MpibootError as fault:
        assert str(fault)
