"""The metrics of a launcher."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence

from mpiboot.model.outcome import Stage
from mpiboot.plan.retry import Kind
from mpiboot.plan.roster import Roster
from mpiboot.report import catalogue
from mpiboot.report.metrics import Family, Metric
from mpiboot.roles.launcher_view import LauncherView

# Beyond that a series for each host would cost those who store them more than they learn.
_HOSTS = 128


def of(view: LauncherView) -> Callable[[], Sequence[Family]]:
    """Return what makes the metrics of a view."""
    return lambda: [*_workers(view), *_leases(view), *_job(view)]


def _workers(view: LauncherView) -> Iterator[Family]:
    gathered = view.gathering
    seen = gathered.seen if gathered else Roster()
    yield catalogue.WORKERS_EXPECTED.one((gathered.expected if gathered else None) or 0)
    yield catalogue.WORKERS_READY.one(seen.ready)
    yield catalogue.WORKERS.by(view.phases())
    if seen.ready <= _HOSTS:
        waited = ((one.host.name, one.ready_after_s) for one in seen.values())
        yield catalogue.WORKER_WAIT.by({name: s for name, s in waited if s is not None})
    yield catalogue.LONGEST_WAIT.one(seen.longest_s)
    yield catalogue.PROBE_FAILURES.by(gathered.failures if gathered else {})


def _each(metric: Metric, values: Mapping[str, float]) -> Iterator[Family]:
    """Yield a metric with one series a host, unless they are too many."""
    if len(values) <= _HOSTS:
        yield metric.by(values)


def _leases(view: LauncherView) -> Iterator[Family]:
    held = view.leases()
    now = asyncio.get_running_loop().time()
    ages = [now - lease.heard_at for lease in held if not lease.plain]
    lost = sum(view.gathering.losses.values()) if view.gathering else 0
    yield catalogue.LEASES_HELD.one(len(held))
    yield catalogue.LEASES_LOST.one(lost + view.counts.leases_lost)
    yield catalogue.HEARTBEAT_AGE.one(max(ages, default=0))


def _job(view: LauncherView) -> Iterator[Family]:
    peaks = view.counts.peak_memory_bytes
    yield catalogue.ATTEMPTS.one(len(view.attempts))
    yield catalogue.LAUNCH_RETRIES.one(view.attempts_of(Kind.LAUNCH_RETRY))
    yield catalogue.RESTARTS.one(view.attempts_of(Kind.RESTART))
    yield catalogue.OOM_KILLS.one(view.counts.oom_kills)
    yield from _each(catalogue.PEAK_MEMORY, peaks)
    if peaks:
        yield catalogue.HIGHEST_PEAK.one(max(peaks.values()))
    yield catalogue.JOB_DURATION.one(view.timeline.of(Stage.RUNNING))
    if view.outcome is not None:
        yield catalogue.JOB_EXIT_CODE.one(view.outcome.code)
