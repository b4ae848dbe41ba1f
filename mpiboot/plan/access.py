"""The files by which mpirun reaches the workers: hostfile, ssh's configuration, host keys."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from mpiboot.model.counting import counted
from mpiboot.model.settings import Settings
from mpiboot.mpi import openmpi
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan import sshconf
from mpiboot.plan.ground import Ground
from mpiboot.plan.launchplan import PlannedFile
from mpiboot.plan.layout import Layout

# A session takes 2 ms of the launcher's one interpreter and 5 ms of an ssh; a connection of its own
# takes 11 ms of an ssh (`python -m bench sessions`). So as many ssh on more CPUs than these are
# quicker; up to that many workers it is half a second at most, and one login for each of them less.
MOST_SHARED, FEW_CPUS = 256, 6
# Where a user gives words for ssh: by parameter or by variable.
_SSH_PARAMS = (*openmpi.SSH_ARGS, *openmpi.AGENT)
_SSH_VARIABLES = (
    *(f"{prefix}{name}" for prefix in ("OMPI_MCA_", "PRTE_MCA_") for name in _SSH_PARAMS),
    *("HYDRA_LAUNCHER_EXTRA_ARGS", "HYDRA_LAUNCHER_EXEC", "HYDRA_BOOTSTRAP_EXEC"),
    *("I_MPI_HYDRA_BOOTSTRAP_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"),
)
# What says how patiently a connection is made, and nothing else, is moot where one is open.
_MOOT = (
    "batchmode", "connectionattempts", "connecttimeout", "loglevel", "serveraliveinterval",
    "serveralivecountmax", "stricthostkeychecking", "tcpkeepalive", "userknownhostsfile",
)  # fmt: skip


def unshared(settings: Settings, environ: Mapping[str, str], count: int, cpus: float) -> str:
    """Say why mpirun's ssh shall make connections of its own; empty: it may share the leases.

    Args:
        settings: what the user chose.
        environ: the job's environment.
        count: leases.
        cpus: of the launcher's container.
    """
    if not settings.lease_sessions:
        return "--no-lease-sessions"
    if settings.rsh_agent:
        return "another program takes the place of ssh"
    if count > MOST_SHARED and cpus > FEW_CPUS:
        return f"more than {MOST_SHARED} workers, and {cpus:g} CPUs"
    for text in _ssh_words(settings, environ):
        if not _moot(text):
            return f"ssh is told {text}"
    return ""


def _ssh_words(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    """Give what the user tells ssh, or who takes its place."""
    yield from (environ[name] for name in _SSH_VARIABLES if environ.get(name, "ssh") != "ssh")
    for pair in settings.mca:
        name, _, value = pair.partition("=")
        if name in _SSH_PARAMS:
            yield value
    words = list(settings.mpirun_arg)
    for at, word in enumerate(words):
        if word in _SSH_PARAMS or "launcher" in word or "bootstrap" in word:
            yield " ".join(words[at + 1 : at + 2])


def _moot(text: str) -> bool:
    """Tell whether words for ssh say nothing of which connection to make."""
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    names = (word.partition("=")[0].lower() for word in words if word != "-o")
    return all(name.removeprefix("-o") in _MOOT for name in names)


def files(
    settings: Settings, dialect: Dialect, ground: Ground, layout: Layout
) -> tuple[PlannedFile, ...]:
    """Plan the files by which workers are reached; a program in place of ssh needs the first only."""
    hostfile = PlannedFile(
        path=f"{ground.directory}/hostfile",
        text=dialect.hostfile(layout.nodes, settings.map_by),
        reason=f"{counted(len(layout.places), 'worker')}, {counted(layout.total_slots, 'slot')}",
    )
    if settings.rsh_agent:
        return (hostfile,)
    known = f"{ground.directory}/known_hosts"
    config = sshconf.ssh_config(
        layout.places,
        user=settings.ssh_user or ground.user,
        port=ground.port,
        identity=ground.identity,
        known_hosts=known,
        masters=ground.masters,
    )
    return (
        hostfile,
        PlannedFile(
            path=f"{ground.directory}/ssh_config",
            text=config,
            reason="user, port, key and the address that answered, for each worker",
        ),
        PlannedFile(
            path=known,
            text=sshconf.known_hosts(ground.host_keys, layout.places, ground.known_hosts),
            reason="host keys of this job; no other host is believed",
        ),
    )
