"""Kubeflow Trainer v2: a JobSet whose jobs `node` and `launcher` make up an MPI job (TrainJob).

Source: kubeflow/trainer, pkg/runtime/framework/plugins/mpi. It says the role in no variable: pods
are told apart by their names, `<job>-<node|launcher>-<replica>-<index>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mpiboot.model.hosts import Host, Listed, Source
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings
from mpiboot.platforms import operatorenv, sshfiles
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "Kubeflow Trainer"
VARIABLES = operatorenv.VARIABLES

_NAME = re.compile(r"[a-z0-9-]+-(node|launcher)-\d+-\d+", re.ASCII)
_ROLES = {"node": "worker", "launcher": "launcher"}
_OPERATOR = "K_MPI_JOB_ROLE"
# The Job controller starts a failed launcher again after 10 s, then twice that, up to 360 s.
RETRY_GRACE_S = 600.0


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need the hostfile, ssh's configurations, and the public parts of the Secret."""
    path, _ = operatorenv.hostfile(env)
    return (path, *sshfiles.CONFIGS, *sshfiles.key_files(sshfiles.homes(env)))


def identify(around: Surroundings) -> Identity | None:
    """Tell the role by the pod's name, where the Trainer's files or variables are, too."""
    if around.settings.hosts or around.settings.hostfile or _OPERATOR in around.env:
        return None
    path, variable = operatorenv.hostfile(around.env)
    if variable and path in around.files and _names_nodes(around.files[path]):
        return Identity(
            role="launcher", why=f"{variable} names {path}, and that a TrainJob's nodes"
        )
    found = _NAME.fullmatch(around.hostname.split(".", 1)[0])
    keys = sshfiles.key_dir(around.files, sshfiles.homes(around.env))
    if not found or not keys:
        return None
    why = f"a job's keys are in {keys}, and the hostname is {around.hostname}"
    return Identity(role=_ROLES[found[1]], why=why)


def _names_nodes(hostfile: str) -> bool:
    """Tell whether a hostfile is the Trainer's, by the form of its names."""
    labels = (line.split(".", 1)[0].strip() for line in hostfile.splitlines() if line.strip())
    return any(_NAME.fullmatch(label) for label in labels)


def source(around: Surroundings) -> Source | None:
    """Read the Trainer's hostfile, unless other hosts are given.

    Raises:
        ConfigError: it names no host, or a line of it cannot be read.
    """
    listed = operatorenv.hosts(around) if _is_here(around) else None
    if listed is None:
        return None
    return Listed(hosts=tuple(_known(host) for host in listed.hosts))


def _known(host: Host) -> Host:
    """Know the launcher's own line for what it is: its DNS record may lag behind its start."""
    found = _NAME.fullmatch(host.name.split(".", 1)[0])
    return replace(host, here=found is not None and found[1] == "launcher")


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Suggest what every TrainJob with MPI has, whatever its runtime says."""
    if not _is_here(around):
        return {}
    return {
        **sshfiles.suggestions(around),
        **operatorenv.suggestions(around),
        "retry_grace_s": Suggestion(
            value=RETRY_GRACE_S,
            why="a launcher comes back up to 360 s after a failed attempt, a node that left does not",
        ),
        "failure_is_final": Suggestion(
            value=False, why="the launcher's Job may start it again, and the JobSet ends the nodes"
        ),
    }


def _is_here(around: Surroundings) -> bool:
    """Tell whether this is a pod of a TrainJob, also where the user has said the role or the hosts."""
    return identify(operatorenv.unnamed(around)) is not None
