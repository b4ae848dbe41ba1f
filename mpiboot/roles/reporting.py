"""What an agent tells the outside: status file, metrics, termination message, and its last record."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mpiboot.model import redacted
from mpiboot.model import settings as declared
from mpiboot.model.outcome import Outcome, Phase, phase_of
from mpiboot.model.settings import Settings
from mpiboot.model.spec import LAUNCHER
from mpiboot.model.standing import Condition, Task
from mpiboot.plan import conditions
from mpiboot.plan.conditions import Moment
from mpiboot.report import catalogue, delivery, gauging, metrics, status
from mpiboot.report.kept import Kept
from mpiboot.report.metrics import Family
from mpiboot.report.publish import Duty, publish
from mpiboot.report.timeline import Timeline, wall_clock

if TYPE_CHECKING:
    from mpiboot.report.push import Target

STATUS = "status.json"  # in the private directory, where no other file was chosen
_FILE_S = 10.0
_PUSH_S = 5.0


class Source(Protocol):
    """Whom to ask: the roles put their own answers into these."""

    details: Callable[[], dict[str, object]]
    families: Callable[[], Sequence[Family]]
    tasks: Callable[[], Sequence[Task]]
    troubled: Callable[[], Sequence[Task]]  # those of them that failed, or do not answer
    silent: Callable[[], bool]
    record: Callable[[], dict[str, object]]
    directory: Path

    @property
    def orphans_reaped(self) -> int:
        """How many orphans were reaped."""


class Reporting:
    """Tells of one agent.

    Args:
        role: of the agent.
        settings: what the user chose.
        origins: where each setting came from, by field name.
        timeline: its stages.
        source: whom to ask.
    """

    def __init__(
        self,
        role: str,
        settings: Settings,
        origins: Mapping[str, str],
        timeline: Timeline,
        source: Source,
    ) -> None:
        self._role = role
        self._settings = settings
        self._origins = origins
        self._timeline = timeline
        self._source = source
        self._conditions: tuple[Condition, ...] = ()
        self._written: dict[str, object] = {}
        self._target: Target | None = None
        self.outcome: Outcome | None = None
        wanted = role == LAUNCHER and settings.report_file and settings.report_output_kb
        self.kept = Kept(settings.report_output_kb * 1024) if wanted else None

    def check(self, hostname: str) -> None:
        """Look at what can be wrong before the end, when it would be too late.

        Raises:
            ConfigError: the URL of the Pushgateway is none.
        """
        if self._settings.pushgateway:
            from mpiboot.report import push  # noqa: PLC0415 - few jobs push, and start-up time counts

            self._target = push.target(
                self._settings.pushgateway,
                job=push.job_name(self._settings.push_job, hostname),
                instance=hostname,
                role=self._role,
            )

    def write(self) -> None:
        """Write the status file, unless nothing has changed."""
        chosen, directory = self._settings.status_file, self._source.directory
        document = self._document()
        if (chosen or directory != Path()) and document != self._written:
            self._written = document
            status.write_status(Path(chosen) if chosen else directory / STATUS, document)

    def _document(self) -> dict[str, object]:
        self._conditions = self._known(self.outcome)
        return self._told(self._conditions, self.outcome)

    def foreseen(self, outcome: Outcome | None) -> dict[str, object]:
        """Return the status as it would be with that outcome; nothing of it is kept."""
        return self._told(self._known(outcome), outcome)

    def _told(self, known: Sequence[Condition], outcome: Outcome | None) -> dict[str, object]:
        standing = status.Standing(
            phase=self._phase(outcome), conditions=known, tasks=self._source.tasks()
        )
        return status.document(
            self._role, self._timeline, standing, self._source.details(), outcome
        )

    def _known(self, outcome: Outcome | None) -> tuple[Condition, ...]:
        """Return the conditions of now; they depend on no task that is well."""
        source = self._source
        now = Moment(
            stage=self._timeline.stage,
            outcome=outcome,
            silent=source.silent(),
            tasks=source.troubled(),
        )
        return conditions.advance(self._conditions, now, wall_clock())

    def _phase(self, outcome: Outcome | None) -> Phase:
        return phase_of(self._timeline.stage, outcome, silent=self._source.silent())

    def metrics(self) -> str:
        """Return the metrics of now as text."""
        self._conditions = self._known(self.outcome)
        phase = self._phase(self.outcome)
        common = gauging.common(self._role, self._timeline, phase, self._conditions, self.outcome)
        orphans = catalogue.ORPHANS.one(self._source.orphans_reaped)
        return metrics.render([*common, orphans, *self._source.families()])

    async def publish(self) -> None:
        """Leave the record and the metrics where they were asked for."""
        settings = self._settings
        duties = []
        if settings.report_file:
            record = self._record()
            duties.append(
                Duty(
                    what=f"cannot write the report file {settings.report_file}",
                    work=lambda: delivery.deliver(
                        Path(settings.report_file), self._rendered(record)
                    ),
                    most_s=_FILE_S,
                )
            )
        if settings.metrics_file or self._target is not None:
            duties += self._metrics_duties(self.metrics())
        await publish(duties)

    def _metrics_duties(self, text: str) -> list[Duty]:
        settings, target = self._settings, self._target
        duties = []
        if settings.metrics_file:
            duties.append(
                Duty(
                    what=f"cannot write the metrics file {settings.metrics_file}",
                    work=lambda: delivery.deliver(Path(settings.metrics_file), text),
                    most_s=_FILE_S,
                )
            )
        if target is not None:
            duties.append(
                Duty(
                    what=f"cannot push metrics to {target.url}",
                    work=lambda: target.push(text, metrics.CONTENT_TYPE),
                    most_s=_PUSH_S,
                )
            )
        return duties

    def _record(self) -> dict[str, object]:
        """Gather the whole record; the output follows later, in the thread that writes it."""
        seconds = self._timeline.seconds()
        return {
            "schema": status.SCHEMA,
            "status": self._document(),
            "seconds": {stage.value: round(lasted, 3) for stage, lasted in seconds.items()},
            "settings": shown_settings(self._settings, self._origins),
            **self._source.record(),
        }

    def _rendered(self, record: dict[str, object]) -> str:
        output = {"output": self.kept.to_json()} if self.kept is not None else {}
        return json.dumps({**record, **output}, indent=2) + "\n"


def shown_settings(settings: Settings, origins: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """Return each setting with its value and origin; no secrets."""
    return {
        spec.key: {
            "value": redacted.shown(spec, getattr(settings, spec.name)),
            "origin": origins.get(spec.name, "default"),
        }
        for spec in declared.specs()
    }


def own_task(role: str, timeline: Timeline, outcome: Outcome | None, restarts: int) -> Task:
    """Describe an agent as the only task that it knows of."""
    host = os.uname().nodename
    phase = phase_of(timeline.stage, outcome)
    return Task(name=host, role=role, phase=phase, restarts=restarts, host=host)
