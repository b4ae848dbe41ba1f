"""What a person should know of a launch besides its words: placement, networks, what stays behind."""

from __future__ import annotations

from collections.abc import Sequence

from mpiboot.model.counting import counted
from mpiboot.model.facts import Facts
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan import passenv
from mpiboot.plan.ground import Ground
from mpiboot.plan.layout import Layout
from mpiboot.plan.networks import Choice
from mpiboot.plan.rankenv import Decision


def told(
    crowds: Sequence[str],
    choice: Choice,
    notes: Sequence[str],
    kept: Sequence[Decision],
) -> list[str]:
    """Return what the log shows at once."""
    return [
        *crowds,
        *([f"network {choice.reason}"] if choice.cidrs or choice.included else []),
        *notes,
        *(f"{one.name}: {one.reason}" for one in kept if one.wanted),
    ]


def whole(
    dialect: Dialect,
    ground: Ground,
    layout: Layout,
    facts: Sequence[Facts | None],
) -> list[str]:
    """Return what only the plan itself shows."""
    notes = [
        f"{dialect.NAME} ({ground.version}), {counted(layout.np, 'rank')} on {counted(len(layout.places), 'worker')}"
    ]
    notes += [
        f"{place.name}: {counted(place.slots, 'slot')} ({place.why})"
        + (f", called {place.node}" if place.node != place.name else "")
        for place in layout.places
    ]
    notes += [
        f"{name} is not handed on: a worker's sessions have their own (force it with -x {name})"
        for name in passenv.kept_paths(ground.environ, facts)
    ]
    return notes
