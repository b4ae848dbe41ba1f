"""Workers that come and go while the job runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from mpiboot.errors import MpibootError
from mpiboot.log import logger
from mpiboot.model.counting import counted
from mpiboot.model.record import dataclass
from mpiboot.model.settings import Settings
from mpiboot.plan import layout, owning
from mpiboot.plan.gather import Seen
from mpiboot.plan.ground import Ground
from mpiboot.plan.launchplan import LaunchPlan
from mpiboot.plan.layout import Layout
from mpiboot.roles.claiming import Claimant
from mpiboot.roles.discovery import Discovery
from mpiboot.roles.gathering import Gathering
from mpiboot.roles.installation import Installation
from mpiboot.roles.watching import Watch
from mpiboot.runtime import files


@dataclass(frozen=True)
class Access:
    """What it takes for a running command to reach further workers.

    Attributes:
        settings: the user's.
        plan: by which the command was started.
        installed: its MPI and the programs that have stand-ins.
        ground: this container.
        claimant: this launcher, as workers know it.
    """

    settings: Settings
    plan: LaunchPlan
    installed: Installation
    ground: Ground
    claimant: Claimant

    def arrange(self, seen: Sequence[Seen]) -> Layout:
        """Write the files by which it reaches workers anew, for these."""
        settings, installed, ground = self.settings, self.installed, self.ground
        arranged = layout.arrange(
            seen, own_hostname=ground.hostname, slots=settings.slots, np=0,
            calls=layout.calls(settings),
        )  # fmt: skip
        for file in owning.access_anew(
            self.plan, settings, installed.dialect, ground,
            layout=arranged, programs=installed.programs,
        ):  # fmt: skip
            files.write(Path(file.path), file.text, mode=file.mode)
        return arranged


class Elastic:
    """What comes and goes is told, and stands in the discovery script; the job's command decides.

    Args:
        gathering: goes on while the job runs.
        discovery: the script.
        watch: of the command.
        chosen: those who take part from the start.
        access: of the command to workers.
    """

    def __init__(
        self,
        gathering: Gathering,
        discovery: Discovery,
        watch: Watch,
        chosen: Sequence[Seen],
        access: Access,
    ) -> None:
        self._gathering = gathering
        self._discovery = discovery
        self._watch = watch
        self._known = {one.host.name: one for one in chosen}
        self._access = access
        self._joining: dict[str, asyncio.Task[None]] = {}

    def changed(self, name: str) -> None:
        """Take in a worker that has come, or come back; know one that went."""
        seen = self._gathering.seen.get(name)
        if seen is not None and seen.reach.ready and seen != self._known.get(name):
            self._discovery.drop(name)  # until it is ours again
            self._joining[name] = asyncio.ensure_future(self._join(name, seen))
        self._discovery.update()

    async def _join(self, name: str, seen: Seen) -> None:
        """Let a worker take part: it is claimed, can be reached by its name, and then is named."""
        lease = self._gathering.leases.get(name)
        if lease is not None:
            patience_s = self._access.settings.attempt_timeout_s
            try:
                await self._access.claimant.claim({name: lease}, patience_s)
            except MpibootError as fault:
                logger.warning("%s cannot take part: %s", name, fault)
                lease.close()
                self._gathering.lost(name, str(fault))
                return
            self._watch.follow(name, lease)
        again = name in self._known
        self._known[name] = seen
        arranged = self._access.arrange(list(self._known.values()))
        self._discovery.add(name)
        slots = next(place.slots for place in arranged.places if place.name == name)
        logger.info(
            "%s %s, with %s", name, "is back" if again else "has come", counted(slots, "slot")
        )


def begin(
    gathering: Gathering,
    discovery: Discovery,
    watch: Watch,
    chosen: Sequence[Seen],
    access: Access | None,
) -> None:
    """Keep the script in line with the leases while the job runs.

    Args:
        gathering: knows the leases.
        discovery: the script; it names no others than `chosen`, unless the job is elastic.
        watch: of the job, before it runs.
        chosen: those who take part.
        access: of an elastic job's command to workers; None: the job is not of that kind.
    """
    discovery.members = {one.host.name for one in chosen}
    discovery.update()
    watch.on_lost = gathering.lost
    if access is None or not access.settings.elastic:
        return
    elastic = Elastic(gathering, discovery, watch, chosen, access)
    gathering.on_change = elastic.changed
    for name in list(gathering.seen):  # one may have come since the decision
        elastic.changed(name)
