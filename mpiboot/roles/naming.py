"""Names to addresses for as long as workers are awaited: few queries, and none asked in vain too often."""

from __future__ import annotations

import asyncio
import random

from mpiboot.model import zone
from mpiboot.model.counting import counted
from mpiboot.model.record import dataclass, field
from mpiboot.plan import names
from mpiboot.plan.names import Look
from mpiboot.runtime import files, resolve
from mpiboot.runtime.resolve import NoAnswerError, NoNameError
from mpiboot.runtime.within import came

# As long as a name's addresses, and what /etc/hosts says, count without another look: a port that
# does not accept yet is tried many times a second.
_KEEP_S = 1.0


@dataclass(kw_only=True)
class _Watch:
    """A headless Service that publishes names which are missing."""

    name: str
    began_s: float
    missing: set[str] = field(default_factory=set)
    found: frozenset[str] = frozenset()
    news: int = 0
    grew: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def hear(self, found: frozenset[str]) -> None:
        """Take in an answer; wake those who wait where it has more than before."""
        grown = not found <= self.found
        self.found = found
        if grown:
            self.news += 1
            self.grew.set()
            self.grew = asyncio.Event()


class Naming:
    """What resolvers say of workers' names.

    In a Kubernetes pod it asks for absolute names, watches the Service that publishes them, and
    keeps the pauses between its questions; elsewhere the system's resolver is asked as it is.

    Args:
        timeout_s: bound of one look.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._zone = zone.read(files.read_text(zone.RESOLV_CONF) or "")
        self._told: tuple[float, frozenset[str]] = (-_KEEP_S, frozenset())
        self._kept: dict[str, tuple[float, list[str]]] = {}
        self._last: dict[str, Look] = {}  # of names that were not there
        self._looks: dict[str, int] = {}
        self._proved: dict[str, int] = {}  # which form answered, by shape
        self._scouted: dict[str, asyncio.Event] = {}
        self._watches: dict[str, _Watch] = {}
        self._watch_of: dict[str, _Watch] = {}

    @property
    def heard(self) -> str:
        """Say what the Services tell whose names are missing; empty where none has answered."""
        said = (
            f"{one.name.rstrip('.')} has {counted(len(one.found), 'address', 'addresses')}"
            for one in self._watches.values()
            if one.missing and one.found
        )
        return ", ".join(said)

    def paces(self, name: str) -> bool:
        """Tell whether the pauses before this name is asked again are kept here."""
        return self._zone is not None and name.lower() not in self._in_hosts()

    async def addresses(self, name: str) -> list[str]:
        """Return the addresses of a name; waits until it may be asked again.

        Raises:
            NoNameError: it does not resolve now.
        """
        at, kept = self._kept.get(name, (0.0, []))
        if kept and self._loop.time() - at < _KEEP_S:
            return kept
        if not self.paces(name):
            found = await resolve.lookup(name, self._timeout_s)
        else:
            await self._until_due(name)
            found = await self._look(name)
        self._kept[name] = (self._loop.time(), found)
        return found

    async def enumerate(self, name: str) -> list[str]:
        """Return all addresses of a name that stands for many hosts; its pauses are the caller's.

        Raises:
            NoNameError: it does not resolve now.
        """
        if not self.paces(name):
            return await resolve.lookup(name, self._timeout_s)
        return await self._ask(name)

    def close(self) -> None:
        """Watch no Service any more."""
        for watch in self._watches.values():
            if watch.task is not None:
                watch.task.cancel()

    async def _until_due(self, name: str) -> None:
        last = self._last.get(name)
        while last is not None:
            watch = self._watch_of.get(name)
            due = names.due_s(
                last,
                news=watch.news if watch else 0,
                watched=bool(watch and watch.found),
                missing=len(self._last),
            )
            wait = due - self._loop.time()
            if wait <= 0:
                return
            await came(watch.grew if watch else asyncio.Event(), wait)

    async def _look(self, name: str) -> list[str]:
        watch = self._watch_of.get(name)
        look = Look(
            at_s=self._loop.time(),
            news=watch.news if watch else 0,
            spread=random.uniform(1.0, 1.2),  # noqa: S311 - spreads load, guards nothing
        )
        try:
            found = await self._ask(name)
        except NoNameError:
            self._last[name] = look
            self._watch(name)
            raise
        self._last.pop(name, None)
        if watch is not None:
            watch.missing.discard(name)
        return found

    async def _ask(self, name: str) -> list[str]:
        """Ask for the form that has answered for such names, or for the likeliest, or for all."""
        assert self._zone is not None  # noqa: S101 - for the type checker: only then it is called
        forms, shape = names.forms(name, self._zone), names.shape(name)
        looks = self._looks.get(name, 0)
        self._looks[name] = looks + 1
        before = self._scouted.get(shape)
        if before is not None and not looks:
            await before.wait()
        if shape in self._proved:
            return await resolve.lookup_once(forms[self._proved[shape]], self._timeout_s)
        if not names.scouts(looks, scouted=before is not None):
            return await resolve.lookup_once(forms[0], self._timeout_s)
        done = self._scouted.setdefault(shape, asyncio.Event())
        try:
            return await self._scout(forms, shape)
        finally:
            done.set()

    async def _scout(self, forms: tuple[str, ...], shape: str) -> list[str]:
        likeliest: NoNameError | None = None
        for number, form in enumerate(forms):
            try:
                found = await resolve.lookup_once(form, self._timeout_s)
            except NoAnswerError:
                raise  # others of its forms would take as long
            except NoNameError as fault:
                likeliest = likeliest or fault
            else:
                self._proved[shape] = number
                return found
        raise likeliest or NoNameError("name does not resolve")

    def _watch(self, name: str) -> None:
        """Have the Service watched that publishes a name which is missing."""
        assert self._zone is not None  # noqa: S101 - as above
        form = names.forms(name, self._zone)[self._proved.get(names.shape(name), 0)]
        service = names.service(form, self._zone)
        if service is None:
            return
        watch = self._watches.get(service)
        if watch is None:
            watch = self._watches[service] = _Watch(name=service, began_s=self._loop.time())
        self._watch_of[name] = watch
        watch.missing.add(name)
        if watch.task is None or watch.task.done():
            watch.task = self._loop.create_task(self._follow(watch))

    async def _follow(self, watch: _Watch) -> None:
        while watch.missing:
            try:
                watch.hear(frozenset(await resolve.lookup_once(watch.name, self._timeout_s)))
                told = len(watch.found)
            except NoNameError:
                told = 0
            waited = self._loop.time() - watch.began_s
            await asyncio.sleep(names.watch_pause_s(waited, told))

    def _in_hosts(self) -> frozenset[str]:
        at, told = self._told
        if self._loop.time() - at >= _KEEP_S:
            told = zone.told(files.read_text(zone.HOSTS) or "")
            self._told = (self._loop.time(), told)
        return told
