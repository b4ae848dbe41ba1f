"""The hosts of a job with what each tells of itself, the launcher's among them."""

from __future__ import annotations

from collections.abc import Sequence

from mpiboot.model.facts import Facts, Network
from mpiboot.model.record import dataclass
from mpiboot.plan.layout import Place


@dataclass(frozen=True, kw_only=True)
class Party:
    """A host of the job.

    Attributes:
        name: how a person calls it.
        address: its address as the others reach it; empty when not known.
        facts: what it tells of itself; None for a plain sshd.
        ranks: whether ranks run there.
        here: whether it is the launcher's own container.
    """

    name: str
    address: str = ""
    facts: Facts | None = None
    ranks: bool = True
    here: bool = False

    @property
    def networks(self) -> tuple[Network, ...]:
        """What it is on; empty when it does not tell."""
        return self.facts.networks if self.facts is not None else ()


def parties(
    places: Sequence[Place], facts: Sequence[Facts | None], own: Facts, own_address: str
) -> list[Party]:
    """List the launcher, then the workers; a launcher that runs ranks is one of these.

    Args:
        places: the workers.
        facts: what each of them tells; None for a plain sshd.
        own: what the launcher's container tells of itself.
        own_address: its address as the workers see it; empty when not known.
    """
    workers = [
        Party(name=place.name, address=place.address, facts=one)
        if place.address
        else Party(name=place.name, address=own_address, facts=own, here=True)
        for place, one in zip(places, facts, strict=True)
    ]
    if not all(place.address for place in places):
        return workers
    name = own.hostname or "the launcher"
    return [Party(name=name, address=own_address, facts=own, ranks=False, here=True), *workers]


def listed(names: Sequence[str], most: int = 3) -> str:
    """Name some hosts; of many the first few."""
    more = len(names) - most
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:most])} and {more} more"
