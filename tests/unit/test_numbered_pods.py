"""StatefulSet, JobSet, Indexed Job and LeaderWorkerSet: role and names from what their pods see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot import platforms
from mpiboot.errors import ConfigError, UsageError
from mpiboot.model import podnames
from mpiboot.model.hosts import Listed
from mpiboot.model.settings import Settings
from mpiboot.platforms import indexedjob, jobset, leaderworkerset, statefulset
from mpiboot.platforms.protocol import Surroundings

RESOLV_CONF = """\
search ml.svc.cluster.local svc.cluster.local cluster.local
nameserver 10.96.0.10
options ndots:5
"""
# What the kubelet sets in every pod of a namespace, and nobody here reads.
KUBELET = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def pod(
    hostname: str, *, service: str = "", env: Mapping[str, str] | None = None, **settings: Any
) -> Surroundings:
    """See what a pod sees: the kubelet writes its full name into /etc/hosts where it has a subdomain."""
    full = f"{hostname}.{service}.ml.svc.cluster.local\t" if service else ""
    hosts = (
        f"# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n10.244.1.7\t{full}{hostname}\n"
    )
    return Surroundings(
        env={**KUBELET, **(env or {})},
        files={"/etc/hosts": hosts, "/etc/resolv.conf": RESOLV_CONF},
        settings=Settings(**settings),
        hostname=hostname,
    )


def names(around: Surroundings) -> list[str]:
    found = platforms.find_source(around)
    assert isinstance(found, Listed)
    return [host.name for host in found.hosts]


def here(around: Surroundings) -> list[str]:
    """Name the hosts that are this very pod, whatever DNS says."""
    found = platforms.find_source(around)
    assert isinstance(found, Listed)
    return [host.name for host in found.hosts if host.here]


def role(around: Surroundings) -> str:
    return platforms.identify(around).role


# --- StatefulSet


def test_statefulset_pod_0_launches_and_takes_part() -> None:
    """Told a count, it names all pods in order, itself by its hostname alone."""
    around = pod("train-0", service="train", workers=3)
    assert role(around) == "launcher"
    assert "Service train" in platforms.identify(around).why
    assert names(around) == ["train-0", "train-1.train", "train-2.train"]
    assert role(pod("train-2", service="train", workers=3)) == "worker"


def test_statefulset_with_a_launcher_of_its_own() -> None:
    """A Job's pod that is told StatefulSet, Service and count; the pods themselves say that they work."""
    around = pod("train-launcher-x7k2p", pods="train", workers=2)
    assert role(around) == "launcher"
    with pytest.raises(ConfigError, match="under which Service") as caught:
        names(around)
    assert "subdomain" in str(caught.value.hint)
    told = Surroundings(
        env=KUBELET, files=around.files, hostname=around.hostname,
        settings=Settings(pods="train", service="workers", workers=2),
    )  # fmt: skip
    assert names(told) == ["train-0.workers", "train-1.workers"]
    assert role(pod("train-0", service="workers", role="worker")) == "worker"


def test_statefulset_without_a_count() -> None:
    """One line says what to set."""
    with pytest.raises(ConfigError, match="how many pods of train take part") as caught:
        names(pod("train-0", service="train"))
    assert "--workers" in str(caught.value.hint)


@pytest.mark.parametrize(
    "hostname", ["web-7d4b9c6f5-24579", "launcher", "train-00", "0", "-0", "a-12345"]
)
def test_other_hostnames_are_no_statefulsets(hostname: str) -> None:
    """The random end of a Deployment's or Job's pod is no number of a pod, digits or not."""
    with pytest.raises(UsageError):
        platforms.identify(pod(hostname, service="train"))


def test_a_numbered_name_outside_kubernetes_says_nothing() -> None:
    """A machine that is called node-1, or a container of compose, has no Service."""
    with pytest.raises(UsageError):
        platforms.identify(pod("node-0", workers=2))
    with pytest.raises(ConfigError, match="no workers are named"):
        platforms.find_source(pod("node-0", workers=2))


# --- Indexed Job


def indexed(index: int, **more: Any) -> Surroundings:
    return pod(f"pi-{index}", env={"JOB_COMPLETION_INDEX": str(index)}, **more)


def test_indexed_job() -> None:
    """Index 0 launches and takes part; the names come from the Job's and the subdomain."""
    assert role(indexed(0, service="pi-svc", workers=3)) == "launcher"
    assert role(indexed(2, service="pi-svc", workers=3)) == "worker"
    assert names(indexed(0, service="pi-svc", workers=3)) == ["pi-0", "pi-1.pi-svc", "pi-2.pi-svc"]


def test_indexed_job_without_subdomain() -> None:
    """Its pods have no names: that is said, and how to mend it."""
    with pytest.raises(ConfigError, match="under which Service the pods of Job pi have names"):
        names(indexed(0, workers=3))


def test_indexed_job_on_the_nodes_network() -> None:
    """The hostname is the node's: Job and Service have to be told."""
    env = {"JOB_COMPLETION_INDEX": "0"}
    with pytest.raises(ConfigError, match="the Job's name is not told"):
        names(pod("gke-node-a1", env=env, workers=2))
    around = Surroundings(
        env=env, files={}, hostname="gke-node-a1",
        settings=Settings(pods="pi", service="pi-svc", workers=2),
    )  # fmt: skip
    assert names(around) == ["pi-0.pi-svc", "pi-1.pi-svc"]


def test_indexed_job_retries() -> None:
    """A launcher that failed comes back: workers wait for it longer than the Job does."""
    suggested = platforms.suggest(indexed(1, service="pi-svc"))
    assert suggested["failure_is_final"].value is False
    assert suggested["retry_grace_s"].value == 600.0
    assert suggested["retry_grace_s"].why.startswith("Indexed Job: ")


# --- JobSet


def member(
    replicated: str, job: int, index: int, *, env: Mapping[str, str] | None = None, **more: Any
) -> Surroundings:
    told = {"JOBSET_NAME": "js", "JOB_COMPLETION_INDEX": str(index), **(env or {})}
    return pod(f"js-{replicated}-{job}-{index}", service="js", env=told, **more)


def test_jobset_of_equal_pods() -> None:
    """The first pod launches and takes part."""
    assert role(member("workers", 0, 0, workers=3)) == "launcher"
    assert role(member("workers", 0, 1, workers=3)) == "worker"
    assert role(member("workers", 1, 0, workers=3)) == "worker"
    around = member("workers", 0, 0, workers=3)
    assert names(around) == ["js-workers-0-0", "js-workers-0-1.js", "js-workers-0-2.js"]


def test_jobset_with_a_launcher() -> None:
    """A replicated Job that is called launcher launches, on the pods of the one that it is told."""
    around = member("launcher", 0, 0, pods="workers", workers=2)
    assert role(around) == "launcher"
    assert names(around) == ["js-workers-0-0.js", "js-workers-0-1.js"]
    with pytest.raises(ConfigError, match="which replicated Job holds the workers"):
        names(member("launcher", 0, 0, workers=2))


def test_jobset_that_tells_of_other_jobs() -> None:
    """Where the labels say that there are more Jobs than its own, the first pod is a worker, too."""
    counts = {"REPLICATED_JOB_REPLICAS": "1", "GLOBAL_REPLICAS": "2"}
    assert role(member("workers", 0, 0, env=counts)) == "worker"
    alone = {"REPLICATED_JOB_REPLICAS": "2", "GLOBAL_REPLICAS": "2"}
    assert role(member("workers", 0, 0, env=alone)) == "launcher"


def test_jobset_of_several_jobs() -> None:
    """Pods are shared evenly by the Jobs, job by job."""
    env = {"REPLICATED_JOB_REPLICAS": "2"}
    around = member("w", 0, 0, env=env, workers=4)
    assert names(around) == ["js-w-0-0", "js-w-0-1.js", "js-w-1-0.js", "js-w-1-1.js"]
    with pytest.raises(ConfigError, match="3 pods cannot be shared evenly by 2 Jobs"):
        names(member("w", 0, 0, env=env, workers=3))


def test_jobset_on_the_nodes_network() -> None:
    """The hostname is the node's: labels in the environment tell the rest."""
    env = {
        "JOBSET_NAME": "js", "REPLICATED_JOB_NAME": "w", "JOB_INDEX": "0", "JOB_COMPLETION_INDEX": "1",
    }  # fmt: skip
    around = pod("gke-node-a1", env=env, workers=2)
    assert role(around) == "worker"
    assert names(around) == ["js-w-0-0.js", "js-w-0-1"]
    assert here(around) == ["js-w-0-1"]


def test_jobset_that_tells_nothing() -> None:
    """Its pods are those of an Indexed Job: the names are the same."""
    around = pod("js-w-0-0", service="js", env={"JOB_COMPLETION_INDEX": "0"}, workers=2)
    assert role(around) == "launcher"
    assert names(around) == ["js-w-0-0", "js-w-0-1.js"]


# --- LeaderWorkerSet


def grouped(index: int, **env: str) -> Surroundings:
    told = {
        "LWS_LEADER_ADDRESS": "lws-1.lws.ml", "LWS_GROUP_SIZE": "3", "LWS_WORKER_INDEX": str(index),
    }  # fmt: skip
    name = f"lws-1-{index}" if index else "lws-1"
    return pod(name, service="lws", env={**told, **env})


def test_leaderworkerset() -> None:
    """The leader launches and takes part, the group's size is told, and nothing has to be set."""
    assert [role(grouped(index)) for index in range(3)] == ["launcher", "worker", "worker"]
    assert names(grouped(0)) == ["lws-1", "lws-1-1.lws.ml", "lws-1-2.lws.ml"]


def test_leaderworkerset_before_it_told_the_index() -> None:
    """The hostname does: the leader's is the first label of the address."""
    assert [role(grouped(index, LWS_WORKER_INDEX="")) for index in range(3)] == [
        "launcher",
        "worker",
        "worker",
    ]


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"LWS_LEADER_ADDRESS": "10.244.0.9"}, "without a name"),
        ({"LWS_GROUP_SIZE": ""}, "LWS_GROUP_SIZE is '', not a number"),
    ],
)
def test_leaderworkerset_that_cannot_be_read(env: dict[str, str], told: str) -> None:
    """A leader that is only an address has workers without names; a size has to be a number."""
    with pytest.raises(ConfigError, match=told):
        names(grouped(0, **env))


def test_leaderworkerset_on_the_nodes_network() -> None:
    """The hostname is the node's: the index tells which of them this pod is."""
    told = {"LWS_LEADER_ADDRESS": "lws.lws.ml", "LWS_GROUP_SIZE": "2", "LWS_WORKER_INDEX": "0"}
    around = pod("gke-node-a1", env=told)
    assert (names(around), here(around)) == (["lws", "lws-1.lws.ml"], ["lws"])


# --- all of them


@pytest.mark.parametrize(
    ("around", "own"),
    [
        (pod("train-0", service="train", workers=2), ["train-0"]),
        (pod("Train-1", service="train", workers=2), ["train-1"]),
        (pod("other-0", service="train", workers=2, pods="train"), []),
        (indexed(0, service="pi-svc", workers=2), ["pi-0"]),
        (member("workers", 0, 0, workers=2), ["js-workers-0-0"]),
        (member("launcher", 0, 0, pods="workers", workers=2), []),
        (grouped(0), ["lws-1"]),
        (grouped(0, LWS_WORKER_INDEX=""), ["lws-1"]),
        (grouped(2), ["lws-1-2"]),
    ],
)
def test_this_pod_needs_no_record(around: Surroundings, own: list[str]) -> None:
    """The platform tells which host is here, so that no name has to resolve for it."""
    assert here(around) == own


@pytest.mark.parametrize(
    "around",
    [
        pod("train-0", service="train", hosts="a:2,b:2"),
        indexed(0, service="pi-svc", hosts="a:2,b:2"),
        member("workers", 0, 0, hosts="a:2,b:2"),
        pod("lws", env={"LWS_LEADER_ADDRESS": "lws.lws.ml"}, hosts="a:2,b:2"),
    ],
    ids=["StatefulSet", "Indexed Job", "JobSet", "LeaderWorkerSet"],
)
def test_named_hosts_and_a_said_role_win(around: Surroundings) -> None:
    """--hosts replaces what the platform would name, MPIBOOT_ROLE its role."""
    assert names(around) == ["a", "b"]
    said = Surroundings(
        env=around.env,
        files=around.files,
        hostname=around.hostname,
        settings=Settings(role="worker"),
    )
    assert role(said) == "worker"


@given(
    hostname=st.text(max_size=30),
    env=st.dictionaries(
        st.sampled_from(
            ["JOBSET_NAME", "JOB_COMPLETION_INDEX", "JOB_INDEX", "LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE",
             "LWS_WORKER_INDEX", "REPLICATED_JOB_NAME", "REPLICATED_JOB_REPLICAS"]
        ),
        st.text(max_size=20),
    ),
    hosts=st.text(max_size=60),
)  # fmt: skip
def test_any_surroundings_are_read_or_refused(
    hostname: str, env: dict[str, str], hosts: str
) -> None:
    """Whatever the environment holds, there is an answer or one clear error."""
    around = Surroundings(
        env=env, files={"/etc/hosts": hosts}, hostname=hostname, settings=Settings(workers=2)
    )
    for module in (leaderworkerset, jobset, indexedjob, statefulset):
        module.identify(around)
        module.suggest(around)
        try:
            module.source(around)
        except ConfigError as fault:
            assert str(fault)


def test_numbers_of_pods() -> None:
    """A number has no leading zero, and no more than four digits."""
    assert podnames.numbered("w-0") == ("w", 0)
    assert podnames.numbered("My-App-12") == ("my-app", 12)
    assert podnames.numbered("w-007") is None
