"""What the outside sees of a launcher: details of the status file, and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mpiboot.model.outcome import Outcome, Stage
from mpiboot.plan.layout import Layout
from mpiboot.report import metrics
from mpiboot.report.timeline import Timeline
from mpiboot.roles.gathering import Gathering


@dataclass(kw_only=True)
class LauncherView:
    """What a launcher knows so far.

    Attributes:
        command: the job.
        timeline: the agent's stages.
        gathering: the wait, once it has begun.
        layout: who runs what, once that is decided.
        outcome: how it ended, once it has.
    """

    command: Sequence[str]
    timeline: Timeline
    gathering: Gathering | None = None
    layout: Layout | None = None
    outcome: Outcome | None = field(default=None)

    def not_ready(self) -> str:
        """Tell why the launcher is not ready: it is only while the job runs."""
        stage = self.timeline.stage
        return "" if stage is Stage.RUNNING else stage.value

    def details(self) -> dict[str, object]:
        """Return the launcher's part of the status file."""
        seen = self.gathering.seen.values() if self.gathering else ()
        slots = {one.name: one.slots for one in self.layout.places} if self.layout else {}
        return {
            "command": list(self.command),
            "expected": self.gathering.expected if self.gathering else None,
            "hosts": [
                {
                    "name": one.host.name,
                    "state": one.reach.value,
                    "detail": one.detail,
                    "address": one.address,
                    "slots": slots.get(one.host.name),
                    "ready_after_s": one.ready_after_s,
                }
                for one in seen
            ],
        }

    def families(self) -> Sequence[metrics.Family]:
        """Return the launcher's metrics."""
        families = [*self._of_workers(), self._of_job()]
        if self.outcome is not None:
            families.append(
                metrics.gauge("mpiboot_job_exit_code", "Exit code of the job.", self.outcome.code)
            )
        return families

    def _of_job(self) -> metrics.Family:
        return metrics.gauge(
            "mpiboot_job_duration_seconds",
            "How long mpirun has run, in seconds.",
            self.timeline.of(Stage.RUNNING),
        )

    def _of_workers(self) -> Sequence[metrics.Family]:
        gathered = self.gathering
        seen = list(gathered.seen.values()) if gathered else []
        waits = {one.host.name: one.ready_after_s for one in seen if one.ready_after_s is not None}
        return (
            metrics.gauge(
                "mpiboot_workers_expected",
                "Workers that the job waits for; 0 while that is not known.",
                (gathered.expected or 0) if gathered else 0,
            ),
            metrics.gauge(
                "mpiboot_workers_ready",
                "Workers on which a login works.",
                sum(one.reach.ready for one in seen),
            ),
            metrics.Family(
                name="mpiboot_worker_wait_seconds",
                kind="gauge",
                text="How long each worker was waited for, in seconds.",
                label="worker",
                samples=waits,
            ),
            metrics.Family(
                name="mpiboot_probe_failures_total",
                kind="counter",
                text="Attempts to reach a worker that failed, by kind.",
                label="kind",
                samples=dict(gathered.failures) if gathered else {},
            ),
        )
