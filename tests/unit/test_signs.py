"""Shims ask for a role wherever a platform would tell one; a pod that only looks like ours is left alone."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import pytest

from mpiboot import platforms
from mpiboot.errors import ConfigError, UsageError
from mpiboot.model import options
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings, specs
from mpiboot.plan import signs
from mpiboot.platforms.protocol import Identity, Surroundings
from tests.helpers.operator import Job
from tests.unit import test_clouds as clouds
from tests.unit import test_kubeflow as kubeflow
from tests.unit import test_numbered_pods as numbered

KUBEXEC = "/etc/mpi/kubexec.sh"
VARIABLES = {spec.name: spec.variable for spec in specs()}
NOBODY = Settings()


def without(mapping: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in mapping.items() if key != name}


def operated() -> list[Surroundings]:
    """Give the pods of Kubeflow's operators and of Trainer, some of them told by names and files alone."""
    pods = [pod(job) for job in kubeflow.JOBS for pod in (kubeflow.launcher, kubeflow.worker)]
    silent = [replace(one, env=without(one.env, "K_MPI_JOB_ROLE")) for one in pods]
    homes = ("/home/mpiuser/.ssh", "/data/me/.ssh")
    elsewhere = [
        replace(
            kubeflow.worker(Job(release="trainer")),
            env={"HOME": home.removesuffix("/.ssh")},
            files={f"{home}/{name}": kubeflow.PAIR for name in ("authorized_keys", "id_rsa.pub")},
        )
        for home in homes
    ]
    agents = ("OMPI_MCA_plm_rsh_agent", "I_MPI_HYDRA_BOOTSTRAP_EXEC", "HYDRA_LAUNCHER_EXEC")
    execs = [Surroundings(env={name: KUBEXEC}, files={}, settings=NOBODY) for name in agents]
    worker = Surroundings(env={}, files={KUBEXEC: "#!/bin/sh\n"}, settings=NOBODY)
    return [*pods, *silent, *elsewhere, *execs, worker]


def of_clouds() -> list[Surroundings]:
    """Give the nodes of the services that rent machines, and Volcano's pods."""
    sagemaker = {"SM_HOSTS": '["algo-1","algo-2"]', "SM_CURRENT_HOST": "algo-2"}
    files = {f"/etc/volcano/mpi{task}.host": f"j-mpi{task}-0.j" for task in ("master", "worker")}
    volcano = clouds.MASTER_AND_WORKERS
    return [
        *(clouds.place(clouds.batch(index)) for index in (0, 1)),
        *(clouds.place(files=clouds.resource_config(name)) for name in ("algo-1", "algo-2")),
        *(clouds.place(sagemaker | {"SM_CURRENT_HOST": name}) for name in ("algo-1", "algo-2")),
        *(clouds.place(clouds.SKYPILOT | {"SKYPILOT_NODE_RANK": rank}) for rank in "01"),
        *(clouds.place(clouds.DSTACK | {"DSTACK_NODE_RANK": rank}) for rank in "01"),
        *(
            clouds.place(clouds.AZURE | {"AZ_BATCH_IS_CURRENT_NODE_MASTER": master})
            for master in ("true", "false")
        ),
        *(clouds.place(volcano, hostname=f"lm-job-mpi{end}") for end in ("master-0", "-worker-0")),
        clouds.place({"VC_TASK_INDEX": "0", "MPI_HOST": "j-b-0.j"}, hostname="j-a-0"),
        *(
            clouds.place({name: "0"}, files, hostname=f"j-mpi{task}-0")
            for task in ("master", "worker")
            for name in ("VC_TASK_INDEX", "VK_TASK_INDEX")
        ),
    ]


def of_kubernetes() -> list[Surroundings]:
    """Give the pods of Kubernetes' own controllers that are told of a job of ours."""
    return [
        *(numbered.grouped(index) for index in (0, 1)),
        *(numbered.member("workers", 0, index) for index in (0, 1)),
        *(numbered.indexed(index, service="pi", workers=2) for index in (0, 1)),
        *(numbered.indexed(index, service="pi", pods="pi") for index in (0, 1)),
        *(numbered.pod(f"web-{index}", service="web", workers=2) for index in (0, 1)),
        *(numbered.pod(f"web-{index}", service="web", pods="web") for index in (0, 1)),
        numbered.pod("train-launcher-x7k2p", pods="train", workers=2),
    ]


def told_by_settings() -> list[Surroundings]:
    """Give containers whose user has said it."""
    said = (
        Settings(role="worker"), Settings(role="launcher"), Settings(hosts="a"),
        Settings(hostfile="/h"), Settings(host_script="/s"),
    )  # fmt: skip
    return [Surroundings(env={}, files={}, settings=one) for one in said]


CASES = [*operated(), *of_clouds(), *of_kubernetes(), *told_by_settings()]
LOOKALIKES = [
    *(numbered.indexed(index, service="pi") for index in (0, 1)),
    *(numbered.pod(f"web-{index}", service="web") for index in (0, 1)),
]


def judged(around: Surroundings) -> tuple[str, Identity] | None:
    """Tell which platform says which role; none, too, where one misses something."""
    told = ((one.NAME, one.identify(around)) for one in platforms.PLATFORMS)
    with contextlib.suppress(ConfigError):
        return next(((name, said) for name, said in told if said is not None), None)
    return None


def least(around: Surroundings) -> Surroundings:
    """Leave out what is not needed to tell the role: no sign may rest on that."""
    _, wanted = judged(around) or pytest.fail(f"nobody tells a role in {around}")
    fewer = [
        *(lambda one, name=name: replace(one, env=without(one.env, name)) for name in around.env),
        *(
            lambda one, path=path: replace(one, files=without(one.files, path))
            for path in around.files
        ),
    ]
    for leave_out in fewer:
        said = judged(leave_out(around))
        if said is not None and said[1] == wanted:
            around = leave_out(around)
    return around


def seen(around: Surroundings) -> list[str]:
    """List the signs of these surroundings, as a shim's shell looks for them."""
    chosen = {name for name in VARIABLES if getattr(around.settings, name) != getattr(NOBODY, name)}
    env = {**around.env, **{VARIABLES[name]: "x" for name in chosen}}
    # Volcano's svc plugin lays files and sets variables at once.
    laid = ["/etc/volcano/x.host"] if any(name.endswith("_HOSTS") for name in around.env) else []
    home = around.env.get("HOME", "")
    files = [one.replace("$HOME", home) for one in signs.FILES]
    return [
        *(name for name in signs.VARIABLES if env.get(name)),
        *(one for one in files for path in (*around.files, *laid) if f"{path}/".startswith(one)),
    ]


def test_each_platform_has_a_case_of_each_role() -> None:
    """A platform that nobody thought of here is missing."""
    told = {(said[0], said[1].role) for said in map(judged, CASES) if said is not None}
    only = {("host list", "worker")}  # whoever has a list is the launcher
    names = {one.NAME for one in platforms.PLATFORMS}
    assert told == {(name, role) for name in names for role in ("launcher", "worker")} - only


@pytest.mark.parametrize("around", CASES, ids=lambda one: one.hostname)
def test_whoever_has_a_role_has_a_sign(around: Surroundings) -> None:
    """Also where nothing is there but what that platform itself judges by."""
    _, told = judged(around) or pytest.fail("nobody tells a role")
    assert not told.guessed
    assert seen(least(around))


@pytest.mark.parametrize("around", LOOKALIKES, ids=lambda one: one.hostname)
def test_a_number_alone_is_a_guess(around: Surroundings) -> None:
    """Pods of any StatefulSet and Indexed Job have one: their sshd and mpirun stay what they are."""
    assert platforms.identify(around).guessed
    assert not seen(around)


def test_no_sign_is_idle() -> None:
    """Each is there for some case, so that no container pays for one that tells nothing."""
    found = {sign for around in CASES for sign in seen(around)}
    config = {options.CONFIG_VARIABLE, options.DEFAULT_CONFIG}  # in which any setting may stand
    homes = {one for one in signs.FILES if "$HOME" in one}
    named = {"PRTE_MCA_prte_default_hostfile", "PRTE_MCA_plm_ssh_agent"}  # of an image's maker
    assert {*signs.VARIABLES, *signs.FILES} - found == config | homes | named


def test_signs_of_ours_are_settings() -> None:
    """Each variable of ours among them exists."""
    ours = {one for one in signs.VARIABLES if one.startswith("MPIBOOT_")}
    assert ours <= {*VARIABLES.values(), options.CONFIG_VARIABLE}


def test_without_anything_nobody_tells() -> None:
    """The other way round: no sign, no role."""
    with pytest.raises(UsageError):
        platforms.identify(clouds.place())
    assert not seen(clouds.place())
