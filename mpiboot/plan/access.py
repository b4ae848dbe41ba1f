"""The files by which mpirun reaches the workers: hostfile, ssh's configuration, host keys."""

from __future__ import annotations

from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan import sshconf
from mpiboot.plan.ground import Ground
from mpiboot.plan.launchplan import PlannedFile
from mpiboot.plan.layout import Layout


def files(
    settings: Settings, dialect: Dialect, ground: Ground, layout: Layout
) -> tuple[PlannedFile, ...]:
    """Plan the files by which workers are reached; a program in place of ssh needs the first only."""
    hostfile = PlannedFile(
        path=f"{ground.directory}/hostfile",
        text=dialect.hostfile(layout.nodes, settings.map_by),
        reason=f"{len(layout.places)} workers, {layout.total_slots} slots",
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
