"""Which launcher does a worker belong to? Tickets in the order of arrival, claims, refusals.

Each launcher draws a ticket at every worker that it logs in to; its generation is the highest one. So a
launcher that came later has the higher one wherever both were, and no clock is asked. A claim is
made before ranks are started: the newer launcher gets the worker, what the older one left is ended.
"""

from __future__ import annotations

from collections import OrderedDict

from mpiboot.model.record import dataclass

_REMEMBERED = 256


@dataclass(frozen=True, kw_only=True, order=True)
class Claim:
    """One launcher's right to a worker; the larger one wins.

    Attributes:
        generation: of the launcher.
        launcher_id: random text that decides between equals, the same way everywhere.
        name: what people call it.
    """

    generation: int
    launcher_id: str
    name: str = ""


class Tickets:
    """Hands out numbers in the order in which launchers come; one that comes again keeps its own."""

    def __init__(self) -> None:
        self._drawn: OrderedDict[str, int] = OrderedDict()
        self._last = 0

    def draw(self, launcher_id: str) -> int:
        """Return a launcher's ticket."""
        if launcher_id not in self._drawn:
            self._last += 1
            self._drawn[launcher_id] = self._last
            if len(self._drawn) > _REMEMBERED:
                self._drawn.popitem(last=False)
        return self._drawn[launcher_id]

    def heed(self, claim: Claim) -> None:
        """Take note of a generation that was reached elsewhere: who comes now is newer than that."""
        self._last = max(self._last, claim.generation)


def granted(held: Claim | None, asked: Claim) -> bool:
    """Tell whether a claim is good: nobody holds the worker, the same launcher does, or an older one."""
    if held is None or held.launcher_id == asked.launcher_id:
        return True
    return (asked.generation, asked.launcher_id) > (held.generation, held.launcher_id)
