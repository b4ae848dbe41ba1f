"""The platforms: how each is recognised, and what it says of roles, hosts and settings, asked of the code."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, cast

from mpiboot.model.settings import Settings, specs
from mpiboot.platforms import PLATFORMS
from mpiboot.platforms.protocol import Platform, Suggestion, Surroundings
from tests.pages.tables import code, table

_KEY = "ssh-ed25519 AAAA job"
_SECRET = {"/root/.ssh/authorized_keys": _KEY, "/root/.ssh/id_rsa.pub": _KEY}
_OPERATED = {
    "/etc/mpi/hostfile": "train-worker-0.train.default.svc slots=4\n",
    "/etc/ssh/sshd_config": "Port 2222\n",
    **_SECRET,
}
# A launcher's and a worker's place on each, as the platform describes it; the guide that says more.
_SEEN: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "declared": ("settings.md", ({"settings": {"role": "worker"}},)),
    "MPI Operator v1": ("kubeflow.md#operators-before-v2-kubexecsh", (
        {"env": {"OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh",
                 "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile"},
         "files": {"/etc/mpi/hostfile": "train-worker-0 slots=4\n"}},)),
    "MPI Operator": ("kubeflow.md", (
        {"env": {"K_MPI_JOB_ROLE": "launcher", "OMPI_MCA_orte_set_default_slots": "4",
                 "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile"}, "files": _OPERATED},)),
    "Kubeflow Trainer": ("kubeflow.md#the-trainer", (
        {"env": {"OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile"},
         "files": {**_OPERATED, "/etc/mpi/hostfile": "train-node-0-0.train slots=4\n"},
         "hostname": "train-launcher-0-0"},)),
    "AWS Batch": ("awsbatch.md", tuple(
        {"env": {"AWS_BATCH_JOB_NODE_INDEX": index, "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
                 "AWS_BATCH_JOB_NUM_NODES": "4",
                 "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "10.0.0.7"}}
        for index in ("0", "1"))),
    "SageMaker": ("sagemaker.md", (
        {"env": {"SM_HOSTS": '["algo-1", "algo-2"]', "SM_CURRENT_HOST": "algo-1",
                 "SM_NETWORK_INTERFACE_NAME": "eth0"}},)),
    "Azure Batch": ("hostlists.md#platforms-that-list-all-nodes", (
        {"env": {"AZ_BATCH_HOST_LIST": "10.0.0.4,10.0.0.5", "AZ_BATCH_MASTER_NODE": "10.0.0.4:6000",
                 "AZ_BATCH_IS_CURRENT_NODE_MASTER": "true"}},)),
    "dstack": ("hostlists.md#platforms-that-list-all-nodes", (
        {"env": {"DSTACK_NODES_IPS": "10.0.0.4\n10.0.0.5", "DSTACK_NODE_RANK": "0",
                 "DSTACK_GPUS_PER_NODE": "8"}},)),
    "SkyPilot": ("hostlists.md#platforms-that-list-all-nodes", (
        {"env": {"SKYPILOT_NODE_IPS": "10.0.0.4\n10.0.0.5", "SKYPILOT_NODE_RANK": "0",
                 "SKYPILOT_NUM_GPUS_PER_NODE": "8"}},)),
    "Volcano": ("volcano.md", (
        {"env": {"VC_MASTER_HOSTS": "train-master-0.train", "VC_TASK_INDEX": "0",
                 "VC_WORKER_HOSTS": "train-worker-0.train,train-worker-1.train"},
         "hostname": "train-master-0"},)),
    "LeaderWorkerSet": ("kubernetes.md#leaderworkerset", (
        {"env": {"LWS_LEADER_ADDRESS": "train-0.train.default", "LWS_GROUP_SIZE": "4",
                 "LWS_WORKER_INDEX": "0"}, "hostname": "train-0"},)),
    "JobSet": ("kubernetes.md#jobset", (
        {"env": {"JOBSET_NAME": "train"}, "hostname": "train-workers-0-0"},)),
    "Indexed Job": ("kubernetes.md#indexed-job", (
        {"env": {"JOB_COMPLETION_INDEX": "0"}, "hostname": "train-0"},)),
    "StatefulSet": ("kubernetes.md#statefulset-and-job", (
        {"files": {"/etc/hosts": "10.0.0.4 train-0.train.default.svc.cluster.local train-0\n"},
         "hostname": "train-0"},)),
    "host list": ("hostlists.md", ({"settings": {"hosts": "a:2,b:2"}},)),
}  # fmt: skip


def _rows() -> list[tuple[str, str, str]]:
    """Return name, what it is known by and link of the guide for each, in the order of asking."""
    return [
        (f"[{one.NAME}](#{_anchor(one)})", _says(one), f"[{_page(one)}]({_SEEN[one.NAME][0]})")
        for one in PLATFORMS
    ]


def overview() -> str:
    """Render a row for each platform, in the order in which they are asked."""
    return table(("platform", "recognised by", "guide"), _rows())


def sections() -> str:
    """Render a section for each platform."""
    return "\n".join(_section(one) for one in PLATFORMS)


def _section(one: Platform) -> str:
    guide, places = _SEEN[one.NAME]
    around = [_surroundings(place) for place in places]
    assert all(one.identify(place) is not None for place in around), one.NAME
    rows = [
        ("role", _does(one.identify)),
        ("hosts", _does(one.source)),
        ("tells this container its place", ", ".join(map(code, one.VARIABLES)) or "no variable"),
        *_told(one, around),
    ]
    head = f"### {one.NAME}\n\n{_says(one)}. Guide: [{_page(one)}]({guide}).\n\n"
    return head + table(("", ""), rows)


def _told(one: Platform, places: list[Surroundings]) -> list[tuple[str, str]]:
    """List the settings that it gives, each with its flag, a value of an example, and the reason."""
    given: dict[str, Suggestion] = {}
    for place in places:
        given |= {name: told for name, told in one.suggest(place).items() if name not in given}
    flags = {spec.name: spec.flag for spec in specs()}
    return [
        (code(flags[name]), f"{code(_shown(told.value))}: {told.why}")
        for name, told in given.items()
    ]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _surroundings(place: Mapping[str, Any]) -> Surroundings:
    return Surroundings(
        env=place.get("env", {}),
        files=place.get("files", {}),
        settings=Settings(**place.get("settings", {})),
        hostname=place.get("hostname", "pod"),
    )


def _says(one: Platform) -> str:
    """Return the first sentence of its module, without the name in front."""
    text = ((cast("ModuleType", one)).__doc__ or "").partition("\n")[0].rstrip(".")
    name, colon, rest = text.partition(": ")
    text = rest if colon and name.startswith(one.NAME) else text
    return text[0].upper() + text[1:]


def _does(function: Any) -> str:
    return (function.__doc__ or "").partition("\n")[0].rstrip(".")


def _anchor(one: Platform) -> str:
    return one.NAME.lower().replace(" ", "-")


def _page(one: Platform) -> str:
    return _SEEN[one.NAME][0].partition("#")[0]
