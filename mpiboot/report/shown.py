"""Where the job's output is shown: on our stdout and stderr, and in a copy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from mpiboot import log
from mpiboot.model.rankset import RankSet
from mpiboot.model.record import dataclass
from mpiboot.plan.entries import Entries
from mpiboot.plan.frames import Record
from mpiboot.plan.screen import Screen
from mpiboot.report.place import Form, Place, one_file, put
from mpiboot.runtime.streams import Sink


@dataclass(frozen=True, kw_only=True)
class Look:
    """How output looks, and whose is shown.

    Attributes:
        tag: whether each line gets its rank.
        stamp: whether each line gets its time.
        json: whether it is entries in JSON, which have both.
        ranks: whose output reaches the screen.
        attempt: number of the attempt at the job, from 1.
    """

    tag: bool = False
    stamp: bool = False
    json: bool = False
    ranks: RankSet
    attempt: int = 1


class Shown:
    """Shows pieces of output, from any thread.

    Args:
        look: how and whose.
        copy: gets the output of all ranks in the same look; None: nothing does.
        recent: gets the stderr of all ranks and of mpirun as text for people.
    """

    def __init__(self, look: Look, copy: Sink | None, recent: Sink) -> None:
        self.json = look.json
        self._ranks = look.ranks
        self._entries = Entries(look.attempt, os.uname().nodename)
        err = Place(self._form(look), put)
        out = err if one_file() else Place(self._form(look), put)
        self._places = {"o": out, "e": err}
        self._copy = None
        if copy is not None:
            self._copy = Place(self._form(look), lambda _, data: copy.write(data))
        text = Screen(tag=look.tag or look.json, stamp=look.stamp)
        self._recent = Place(text, lambda _, data: recent.write(data))
        log.turn = err

    def wants(self, record: Record) -> bool:
        """Tell whether anybody will see this piece of output."""
        return self._copy is not None or record.stream == "e" or self._visible(record.rank)

    def place(self, record: Record) -> None:
        """Take a rank's word for where it runs."""
        self._entries.place(record)

    def show(self, records: Sequence[Record]) -> None:
        """Show pieces of output in their order."""
        if self._copy is not None:
            self._copy.show(records)
        self._recent.show(_of(records, "e"))
        seen = [one for one in records if self._visible(one.rank)]
        for place in dict.fromkeys(self._places.values()):
            place.show(_of(seen, [s for s, p in self._places.items() if p is place]))

    def end(self) -> None:
        """End what is open; the agent's own words need no turn any more."""
        log.turn = log.NOBODY
        for place in {*self._places.values(), self._copy, self._recent}:
            if place is not None:
                place.end()

    def _form(self, look: Look) -> Form:
        """Make the form of one place: each has lines that are open there."""
        return self._entries if look.json else Screen(tag=look.tag, stamp=look.stamp)

    def _visible(self, rank: int) -> bool:
        return rank < 0 or rank in self._ranks


def _of(records: Iterable[Record], streams: Sequence[str]) -> Iterable[Record]:
    return (one for one in records if one.stream in streams)
