"""Kubeflow's MPI Operator, v2beta1 (v0.3 to v0.8): K_MPI_JOB_ROLE, a hostfile, a Secret with keys.

Source: kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go of each release.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mpiboot.model.hosts import Host, Listed, Source
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings
from mpiboot.platforms import operatorenv, sshfiles
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "MPI Operator"
ROLE = "K_MPI_JOB_ROLE"
VARIABLES = (ROLE, *operatorenv.VARIABLES)

_LAUNCHER = re.compile(r"[a-z0-9-]+-launcher", re.ASCII)
_WORKER = re.compile(r"[a-z0-9-]+-worker-\d+", re.ASCII)
# The Job controller starts a failed launcher again after 10 s, then twice that, up to 360 s; and
# the operator never makes a worker anew.
RETRY_GRACE_S = 600.0


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need the hostfile, ssh's configurations, and the public parts of the Secret."""
    path, _ = operatorenv.hostfile(env)
    return (path, *sshfiles.CONFIGS, *sshfiles.key_files(sshfiles.homes(env)))


def identify(around: Surroundings) -> Identity | None:
    """Read the role, or tell it by what only one of the roles has."""
    role = around.env.get(ROLE)
    if role in ("launcher", "worker"):
        return Identity(role=role, why=f"{ROLE} says so")
    settings = around.settings
    if settings.hosts or settings.hostfile or operatorenv.rsh_agent(around.env)[0]:
        return None
    path, _ = operatorenv.hostfile(around.env)
    name = around.hostname.split(".", 1)[0]  # a pod may ask for its full name as hostname
    if path in around.files and _LAUNCHER.fullmatch(name):
        return Identity(role="launcher", why=f"{path} is there, and the hostname is {name}")
    keys = sshfiles.key_dir(around.files, sshfiles.homes(around.env))
    if keys and _WORKER.fullmatch(name):
        return Identity(
            role="worker", why=f"a job's keys are in {keys}, and the hostname is {name}"
        )
    return None


def source(around: Surroundings) -> Source | None:
    """Read the operator's hostfile, unless other hosts are given.

    Raises:
        ConfigError: it names no host, or a line of it cannot be read.
    """
    listed = operatorenv.hosts(around) if _is_here(around) else None
    if listed is None:
        return None
    return Listed(hosts=tuple(_known(host) for host in listed.hosts))


def _known(host: Host) -> Host:
    """Know the launcher's own line for what it is: its DNS record may be late, or never come."""
    return replace(host, here=bool(_LAUNCHER.fullmatch(host.name.split(".", 1)[0])))


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Suggest what every MPIJob has, whatever is written in its YAML."""
    if not _is_here(around):
        return {}
    return {
        **sshfiles.suggestions(around),
        **operatorenv.suggestions(around),
        "retry_grace_s": Suggestion(
            value=RETRY_GRACE_S,
            why="a launcher comes back up to 360 s after a failed attempt, a worker never does",
        ),
        "failure_is_final": Suggestion(
            value=False, why="the launcher's Job starts it again, up to backoffLimit times"
        ),
    }


def _is_here(around: Surroundings) -> bool:
    """Tell whether this is a pod of an MPIJob, also where the user has said the role or the hosts."""
    return identify(operatorenv.unnamed(around)) is not None
