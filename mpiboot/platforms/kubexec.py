"""MPI Operators before v2 (v1alpha1 to v1, Training Operator v1): `kubectl exec` in place of ssh.

Their `/etc/mpi/kubexec.sh` is what mpirun calls for each worker, whose pod runs no sshd and is known
by its pod's name, not in DNS. Source: kubeflow/training-operator, pkg/controller.v1/mpi.
"""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.model.hosts import Source
from mpiboot.model.settings import Settings
from mpiboot.platforms import operatorenv
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "MPI Operator v1"
VARIABLES = operatorenv.VARIABLES
AGENT = "/etc/mpi/kubexec.sh"


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need the hostfile, and the agent to see that it is there."""
    return (operatorenv.hostfile(env)[0], AGENT)


def identify(around: Surroundings) -> Identity | None:
    """Be the launcher where a variable names the agent, a worker where only the agent is there."""
    agent, variable = operatorenv.rsh_agent(around.env)
    if agent:
        return Identity(role="launcher", why=f"{variable} is {agent}")
    if AGENT in around.files and operatorenv.HOSTFILE not in around.files:
        return Identity(role="worker", why=f"{AGENT} is there, and no hostfile")
    return None


def source(around: Surroundings) -> Source | None:
    """Read the operator's hostfile, unless other hosts are given.

    Raises:
        ConfigError: it names no host, or a line of it cannot be read.
    """
    return operatorenv.hosts(around) if identify(around) is not None else None


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:
    """Suggest the agent in place of ssh, and what a launcher is told."""
    identity = identify(around)
    if identity is None:
        return {}
    agent, variable = operatorenv.rsh_agent(around.env)
    why = f"{variable} says so" if variable else "it is there, and no ssh keys are"
    return {
        "rsh_agent": Suggestion(value=agent or AGENT, why=why),
        **operatorenv.suggestions(around),
    }
