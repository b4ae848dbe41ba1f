"""What Kubeflow's operators and Trainer put into a launcher's environment, read as values.

They address one mpirun, each in its own variables; which of them are there tells the implementation.
"""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.model.hosts import Listed, parse_hostfile
from mpiboot.model.record import dataclass, replace
from mpiboot.platforms.protocol import Suggestion, Surroundings

HOSTFILE = "/etc/mpi/hostfile"


@dataclass(frozen=True, kw_only=True)
class Implementation:
    """The variables in which an operator addresses one MPI.

    Attributes:
        name: as `mpiImplementation` has it.
        hostfiles: those that name the hostfile.
        slots: the one with the slots of a worker; empty: there is none.
        agents: those that name a program in place of ssh (v1).
    """

    name: str
    hostfiles: tuple[str, ...]
    slots: str
    agents: tuple[str, ...]


IMPLEMENTATIONS = (
    Implementation(
        name="OpenMPI",
        # The latter are for images whose makers say the same to Open MPI 5.
        hostfiles=("OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"),
        slots="OMPI_MCA_orte_set_default_slots",
        agents=("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"),
    ),
    Implementation(
        name="Intel",
        hostfiles=("I_MPI_HYDRA_HOST_FILE",),
        slots="I_MPI_PERHOST",
        agents=("I_MPI_HYDRA_BOOTSTRAP_EXEC",),
    ),
    Implementation(
        name="MPICH",
        hostfiles=("HYDRA_HOST_FILE",),
        slots="",
        agents=("HYDRA_LAUNCHER_EXEC",),
    ),
)

# What v1 says to Intel MPI beside its agent, and what no suggestion needs: it addresses mpirun's ssh.
_MORE = (
    "I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "HYDRA_LAUNCH_EXTRA_ARGS",
    "OMPI_MCA_plm_rsh_args", "OMPI_MCA_orte_keep_fqdn_hostnames",
)  # fmt: skip
VARIABLES = (
    *(name for one in IMPLEMENTATIONS for name in (*one.hostfiles, *one.agents, one.slots) if name),
    *_MORE,
)


def hostfile(env: Mapping[str, str]) -> tuple[str, str]:
    """Tell where the hostfile is, and which variable says so; empty: none does."""
    for one in IMPLEMENTATIONS:
        for name in one.hostfiles:
            if env.get(name, "").startswith("/"):
                return env[name], name
    return HOSTFILE, ""


def hosts(around: Surroundings) -> Listed | None:
    """Read the hostfile; None where it is not there, or the user has named other hosts.

    Raises:
        ConfigError: it names no host, or a line of it cannot be read.
    """
    path, _ = hostfile(around.env)
    if around.settings.hosts or around.settings.hostfile not in ("", path):
        return None
    return parse_hostfile(around.files[path], path) if path in around.files else None


def unnamed(around: Surroundings) -> Surroundings:
    """Return what would be seen if the user had named no hosts: who did is in the same pod."""
    return replace(around, settings=replace(around.settings, hosts="", hostfile=""))


def slots(env: Mapping[str, str]) -> tuple[str, str]:
    """Tell the slots of a worker, and which variable says so; both empty: none does."""
    for one in IMPLEMENTATIONS:
        text = env.get(one.slots, "")
        if text.isascii() and text.isdigit() and 0 < int(text[:7]) <= 100_000:
            return str(int(text)), one.slots
    return "", ""


def rsh_agent(env: Mapping[str, str]) -> tuple[str, str]:
    """Tell the program that v1 operators have in place of ssh, and which variable says so."""
    for one in IMPLEMENTATIONS:
        for name in one.agents:
            if env.get(name, "").endswith("/kubexec.sh"):
                return env[name], name
    return "", ""


def suggestions(around: Surroundings) -> dict[str, Suggestion]:
    """Suggest the hostfile and the slots, as far as a launcher is told of them."""
    found = {}
    path, variable = hostfile(around.env)
    if path in around.files and not around.settings.hosts:
        why = f"{variable} says so" if variable else "it is there"
        found["hostfile"] = Suggestion(value=path, why=why)
    count, variable = slots(around.env)
    if count:
        found["slots"] = Suggestion(value=count, why=f"{variable} says so")
    return found
