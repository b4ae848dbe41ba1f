"""What a launcher knows so far, and how the status file tells it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from mpiboot.link.client import Lease
from mpiboot.link.messages import Message
from mpiboot.model.outcome import Outcome, Phase, Stage, phase_of
from mpiboot.model.record import dataclass, field, replace
from mpiboot.model.spec import LAUNCHER, WORKER
from mpiboot.model.standing import Task, aggregate
from mpiboot.plan.attempts import Attempt
from mpiboot.plan.evidence import Lost, Testimony
from mpiboot.plan.gather import Seen
from mpiboot.plan.launchplan import LaunchPlan
from mpiboot.plan.layout import Layout
from mpiboot.plan.loss import Kind as LossKind
from mpiboot.plan.loss import Loss
from mpiboot.plan.ranks import Book
from mpiboot.plan.retry import Kind
from mpiboot.report.timeline import Timeline, wall_clock
from mpiboot.roles.gathering import Gathering

_SILENT = (LossKind.FROZEN, LossKind.UNREACHABLE)


@dataclass(kw_only=True)
class Counts:
    """What is counted while a job runs; whoever learns of it writes it here.

    Attributes:
        leases_lost: leases lost while the job ran.
        lost: workers that are known to have failed, with the reason; by the user's name.
        silent: workers that no longer answer and may live on (frozen, cut off), with the reason.
        lost_at: when each of both was noted, on the loop's clock.
        oom_kills: processes that the kernel killed for want of memory, on all hosts.
        peak_memory_bytes: peak of each worker's container.
    """

    leases_lost: int = 0
    lost: dict[str, str] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    lost_at: dict[str, float] = field(default_factory=dict)
    oom_kills: int = 0
    peak_memory_bytes: dict[str, int] = field(default_factory=dict)

    def was_lost(self, host: str, loss: Loss) -> None:
        """Note a worker whose lease was lost while the job ran."""
        self.leases_lost += 1
        kind = self.silent if loss.kind in _SILENT else self.lost
        kind[host] = f"{host} was lost: {loss.why}"
        self.lost_at.setdefault(host, time.monotonic())

    def settle(self, seen: Iterable[Lost], belonging: Collection[str]) -> None:
        """Note the losses that were seen late, and belong to the job by its verdict.

        Args:
            seen: all losses of an attempt; those that were in time are noted already.
            belonging: the hosts whose loss belongs to the job.
        """
        for one in seen:
            if one.late and one.kind is not None and one.host in belonging:
                self.was_lost(one.host, Loss(kind=one.kind, why=one.why))

    def testified(self, host: str, said: Testimony) -> None:
        """Note what a worker has told of an attempt at its end."""
        self.oom_kills += said.oom_kills or 0
        peak = max(said.peak_bytes, self.peak_memory_bytes.get(host, 0))
        if peak:
            self.peak_memory_bytes[host] = peak

    def renew(self) -> None:
        """Forget who was lost: the next attempt has found workers anew. Sums and peaks stay."""
        self.lost.clear()
        self.lost_at.clear()
        self.silent.clear()


@dataclass(kw_only=True)
class LauncherView:
    """What a launcher knows so far.

    Attributes:
        command: the job.
        timeline: the agent's stages.
        gathering: the wait, once it has begun.
        layout: who runs what, once that is decided.
        plan: how mpirun is called, once that is decided.
        outcome: how it ended, once it has.
        counts: what is counted.
        attempts: all attempts so far.
        book: of the last attempt's ranks, once mpirun runs.
        on_view: is told when somebody in a worker's container wants to see the job.
    """

    command: Sequence[str]
    timeline: Timeline
    gathering: Gathering | None = None
    layout: Layout | None = None
    plan: LaunchPlan | None = None
    outcome: Outcome | None = field(default=None)
    counts: Counts = field(default_factory=Counts)
    attempts: list[Attempt] = field(default_factory=list)
    book: Book | None = field(default=None)
    on_view: Callable[[Lease, Message], None] = field(default=lambda _lease, _message: None)

    def begin(self, kind: Kind) -> None:
        """Note that an attempt begins."""
        self.counts.renew()
        self.book = None
        number = len(self.attempts) + 1
        self.attempts.append(Attempt(number=number, kind=kind, began=wall_clock()))

    def end(self, outcome: Outcome) -> None:
        """Note how the attempt ended."""
        if self.attempts:
            self.attempts[-1] = replace(self.attempts[-1], outcome=outcome)

    def attempts_of(self, kind: Kind) -> int:
        """Count the attempts of one kind."""
        return sum(one.kind is kind for one in self.attempts)

    def not_ready(self) -> str:
        """Tell why the launcher is not ready: it is only while the job runs, or could be started."""
        stage = self.timeline.stage
        return "" if stage in (Stage.RUNNING, Stage.IDLE) else stage.value

    def silent(self) -> bool:
        """Tell whether no worker of the job answers any more."""
        gone = {**self.counts.lost, **self.counts.silent}
        if not gone:
            return False
        far = [one.name for one in self.layout.places if one.address] if self.layout else []
        return bool(far) and all(name in gone for name in far)

    def held(self) -> frozenset[str]:
        """Name the hosts whose leases are open."""
        return frozenset(self.gathering.leases) if self.gathering is not None else frozenset()

    def leases(self) -> list[Lease]:
        """Return the leases that are held now; none once the workers were released."""
        if self.gathering is None or self.timeline.stage in (Stage.ENDING, Stage.ENDED):
            return []
        gone = {**self.counts.lost, **self.counts.silent}
        return [lease for name, lease in self.gathering.leases.items() if name not in gone]

    def details(self) -> dict[str, object]:
        """Return the launcher's part of the status file."""
        slots = self._slots()
        expected = self.gathering.expected if self.gathering else None
        return {
            "command": list(self.command),
            "expected": expected,
            "ranks": self._ranks(),
            "hosts": [
                {
                    "name": one.host.name,
                    "state": one.reach.value,
                    "detail": one.detail,
                    "address": one.address,
                    "slots": slots.get(one.host.name),
                    "ready_after_s": one.ready_after_s,
                }
                for one in self._seen()
            ],
            "aggregate": self.phases(),
            "attempts": [one.to_json() for one in self.attempts],
            "launch_retries": self.attempts_of(Kind.LAUNCH_RETRY),
            "restarts": self.attempts_of(Kind.RESTART),
        }

    def _ranks(self) -> dict[str, int] | None:
        seen = self.book.ranks() if self.book is not None else None
        if seen is None or not seen.np:
            return None
        return {"expected": seen.np, "started": len(seen.started), "ended": len(seen.ends)}

    def tasks(self) -> list[Task]:
        """Return the launcher and its workers as tasks of the job."""
        slots = self._slots()
        host = os.uname().nodename
        stage = self.timeline.stage
        outcome = self.outcome if stage is Stage.ENDED else None
        own = Task(
            name=host,
            role=LAUNCHER,
            phase=phase_of(stage, outcome, silent=self.silent()),
            restarts=self.attempts_of(Kind.RESTART),
            host=host,
        )
        failed = self._failed()
        return [own, *(self._task(one, slots.get(one.host.name), failed) for one in self._seen())]

    def troubled(self) -> list[Task]:
        """Return those workers among the tasks that have failed, or do not answer."""
        failed = self._failed()
        known = {*failed, *self.counts.silent}
        if not known:
            return []
        slots = self._slots()
        there = (one for one in self._seen() if one.host.name in known)
        return [self._task(one, slots.get(one.host.name), failed) for one in there]

    def phases(self) -> dict[str, int]:
        """Count the workers in each phase: what `aggregate` counts of all tasks, by counts alone."""
        gathered = self.gathering
        if gathered is None or self.outcome is not None:  # a job ends once: then each is looked at
            return aggregate(self.tasks(), gathered.expected if gathered else None)
        seen, troubled = gathered.seen, self.troubled()
        counts = aggregate(troubled, None)
        ready = sum(seen[task.name].reach.ready for task in troubled)
        counts["running"] += seen.ready - ready
        counts["pending"] += max(len(seen), gathered.expected or 0) - seen.ready
        counts["pending"] -= len(troubled) - ready
        return counts

    def _failed(self) -> dict[str, str]:
        """Map each worker that has failed to the reason, the first one that is known."""
        failures = self.outcome.failures if self.outcome is not None and self.outcome.code else ()
        told = {one.host: one.message for one in reversed(failures)}
        return {**told, **self.counts.lost}

    def _task(self, seen: Seen, slots: int | None, failed: Mapping[str, str]) -> Task:
        name = seen.host.name
        phase, reason = self._phase(seen, takes_part=slots is not None)
        if name in failed:
            phase, reason = Phase.FAILED, failed[name]
        losses = self.gathering.losses if self.gathering else {}
        return Task(
            name=name,
            role=WORKER,
            phase=phase,
            reason=reason,
            restarts=losses.get(name, 0),
            host=os.uname().nodename if seen.here else seen.address,
            slots=slots,
        )

    def _phase(self, seen: Seen, *, takes_part: bool) -> tuple[Phase, str]:
        """Tell how a worker stands as a part of this job that has not failed, and why."""
        name = seen.host.name
        if name in self.counts.silent:
            return Phase.UNKNOWN, self.counts.silent[name]
        if not seen.reach.ready:
            return Phase.PENDING, f"{seen.reach.value} {seen.detail}".strip()
        if self.outcome is not None and self.outcome.ran and takes_part:
            return Phase.SUCCEEDED, ""
        return Phase.RUNNING, ""

    def _seen(self) -> list[Seen]:
        return list(self.gathering.seen.values()) if self.gathering else []

    def _slots(self) -> dict[str, int]:
        return {one.name: one.slots for one in self.layout.places} if self.layout else {}

    def record(self) -> dict[str, object]:
        """Return the launcher's part of the whole record."""
        if self.plan is None:
            return {"plan": None}
        return {"plan": {"argv": self.plan.argv, "notes": list(self.plan.notes)}}
