"""What an operator tells mpirun through its environment, and mpiboot tells it itself: taken over.

Kubeflow's MPI Operator and Trainer put the same few variables into every launcher, whatever the user
set there. Left alone, they would send a command's own mpirun to names that it cannot use (the
launcher's own, above all), and tell ranks of devices that only the launcher lacks. Anything with
another value than the operator's is the user's, and stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mpiboot.model.record import dataclass

HOSTFILE = "/etc/mpi/hostfile"
_SSH = "-o ConnectionAttempts=10"
# By the variable that names the hostfile: what goes with it, and the value that is the operator's
# (None: any, a user's is overruled there).
_FAMILIES: Mapping[str, Mapping[str, str | None]] = {
    "OMPI_MCA_orte_default_hostfile": {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_plm_rsh_args": _SSH,
        "OMPI_MCA_orte_set_default_slots": None,
    },
    "PRTE_MCA_prte_default_hostfile": {},
    "I_MPI_HYDRA_HOST_FILE": {
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": _SSH,
        "I_MPI_PERHOST": None,
    },
    # The second is a name that no MPICH reads; the operator has it all the same.
    "HYDRA_HOST_FILE": {"HYDRA_LAUNCH_EXTRA_ARGS": _SSH},
}
_HIDDEN_DEVICES = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")


@dataclass(frozen=True, kw_only=True)
class Taken:
    """An environment without what was taken over, and a note on each variable."""

    environ: Mapping[str, str]
    notes: tuple[str, ...]


def take(environ: Mapping[str, str], *, given: str, own: str) -> Taken:
    """Take over what an operator has set.

    Args:
        environ: the launcher's environment.
        given: path of the file from which the hosts were taken; empty: they were not in one.
        own: path of mpiboot's own hostfile.
    """
    hostfiles = [name for name in _FAMILIES if environ.get(name) in {HOSTFILE, given or HOSTFILE}]
    gone = dict(_gone(environ, hostfiles))
    kept = {name: value for name, value in environ.items() if name not in gone}
    notes = [
        f"{name}: the operator's; it names the hostfile that mpiboot writes" for name in hostfiles
    ]
    notes += [f"{name} is taken away: {why}" for name, why in gone.items()]
    return Taken(environ={**kept, **dict.fromkeys(hostfiles, own)}, notes=tuple(notes))


def _gone(environ: Mapping[str, str], hostfiles: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each variable that is of no use any more, and why."""
    for hostfile in hostfiles:
        for name, value in _FAMILIES[hostfile].items():
            if name in environ and value in (None, environ[name]):
                yield name, "the operator's; mpiboot tells mpirun what it says"
    for name in _HIDDEN_DEVICES if hostfiles else ():
        if environ.get(name) == "":
            yield name, "the operator hides devices from the launcher, and means no rank by it"
