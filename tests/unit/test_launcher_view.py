"""What a launcher tells of its workers, and what it tells of too many."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.hosts import Host
from mpiboot.model.outcome import Failure, Fault, Outcome, Phase, Stage
from mpiboot.model.standing import aggregate
from mpiboot.mpi import openmpi4
from mpiboot.plan import evidence, verdict
from mpiboot.plan.gather import Reach, Seen
from mpiboot.plan.layout import Layout, Place
from mpiboot.plan.loss import Kind, Loss
from mpiboot.plan.retry import Kind as Trial
from mpiboot.plan.roster import Roster
from mpiboot.report import catalogue
from mpiboot.report.timeline import Timeline
from mpiboot.roles import launcher_gauges
from mpiboot.roles.launcher_view import LauncherView


def view_of(workers: int) -> LauncherView:
    """Make the view of a launcher whose workers are all there."""
    names = [f"w{number}" for number in range(workers)]
    gathering: Any = SimpleNamespace(
        seen=Roster(
            Seen(host=Host(name=name), reach=Reach.READY, address="10.0.0.1", ready_after_s=number)
            for number, name in enumerate(names)
        ),
        expected=workers,
        losses={},
        failures={},
        leases={},
    )
    places = tuple(
        Place(name=name, node=name, slots=1, address="10.0.0.1", port=22, user="", why="")
        for name in names
    )
    made = LauncherView(command=["true"], timeline=Timeline(), gathering=gathering)
    made.layout = Layout(places=places, np=workers)
    made.timeline.enter(Stage.RUNNING)
    return made


def phases(view: LauncherView) -> dict[str, Phase]:
    return {task.name: task.phase for task in view.tasks() if task.role == "worker"}


def lose(view: LauncherView, host: str, kind: Kind) -> None:
    view.counts.was_lost(host, Loss(kind=kind, why=kind.value))


def test_workers_that_are_lost() -> None:
    """A container that is gone has failed; one that is frozen or cut off is unknown, until the verdict."""
    view = view_of(4)
    for host, kind in (("w0", Kind.GONE), ("w1", Kind.FROZEN), ("w2", Kind.UNREACHABLE)):
        lose(view, host, kind)
    wanted = [Phase.FAILED, Phase.UNKNOWN, Phase.UNKNOWN, Phase.RUNNING]
    assert list(phases(view).values()) == wanted
    assert not view.silent()
    assert view.counts.leases_lost == 3
    lose(view, "w3", Kind.OOM)
    assert view.silent()
    view.outcome = Outcome(
        code=241,
        fault=Fault.INFRASTRUCTURE,
        message="m",
        ran=True,
        failures=(Failure(message="w1 was lost: frozen", host="w1"),),
    )
    assert phases(view)["w1"] is Phase.FAILED


def test_the_end_of_a_job() -> None:
    """Workers on which nothing failed have succeeded, if ranks ran; else they stand as they stood."""
    view = view_of(2)
    failure = Failure(message="rank 1 on w1 ended with 3", host="w1", rank=1, code=3)
    view.outcome = Outcome(code=3, fault=Fault.USER, message="m", ran=True, failures=(failure,))
    assert list(phases(view).values()) == [Phase.SUCCEEDED, Phase.FAILED]
    view.outcome = Outcome(code=242, fault=Fault.INFRASTRUCTURE, message="m")
    assert list(phases(view).values()) == [Phase.RUNNING, Phase.RUNNING]


def test_a_new_attempt_forgets_who_was_lost() -> None:
    """Losses are of one attempt; sums stay."""
    view = view_of(1)
    view.begin(Trial.FIRST)
    lose(view, "w0", Kind.GONE)
    view.end(Outcome(code=241, fault=Fault.INFRASTRUCTURE, message="w0 was lost"))
    view.begin(Trial.RESTART)
    assert phases(view) == {"w0": Phase.RUNNING}
    assert view.counts.leases_lost == 1
    assert [one["number"] for one in cast("Any", view.details()["attempts"])] == [1, 2]
    assert view.details()["restarts"] == 1


_STATES = st.sampled_from([None, Reach.UNTRIED, Reach.REFUSED, Reach.READY, Reach.PLAIN])


@given(
    st.lists(_STATES, max_size=6),
    st.lists(st.sampled_from(["w0", "w1", "w2", "x"]), max_size=3),
    st.lists(st.sampled_from(["w0", "w1", "w2", "x"]), max_size=3),
    st.one_of(st.none(), st.integers(0, 8)),
    st.sampled_from([None, 0, 3, 242]),
)
def test_phases_that_are_counted_are_those_of_the_tasks(
    reached: list[Reach | None], lost: list[str], silent: list[str], expected: int | None,
    code: int | None,
) -> None:  # fmt: skip
    """A scrape counts what the status file lists, and its conditions miss no task in trouble."""
    view = view_of(len(reached))
    gathering: Any = view.gathering
    gathering.expected = expected
    for number, reach in enumerate(reached):
        if reach is None:
            del gathering.seen[f"w{number}"]
        else:
            gathering.seen[f"w{number}"] = Seen(host=Host(name=f"w{number}"), reach=reach)
    for names, kind in ((lost, Kind.GONE), (silent, Kind.FROZEN)):
        for name in names:
            lose(view, name, kind)
    if code is not None:
        failures = (Failure(message="m", host="w1"),)
        view.outcome = Outcome(
            code=code, fault=Fault.USER, message="m", ran=code != 242, failures=failures
        )
    tasks = view.tasks()
    assert view.phases() == aggregate(tasks, expected)
    wrong = (Phase.FAILED, Phase.UNKNOWN)
    assert [one for one in view.troubled() if one.phase in wrong] == [
        one for one in tasks if one.role == "worker" and one.phase in wrong
    ]


def test_a_scrape_of_a_job_that_is_well_looks_at_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it costs does not grow with the workers: no task is made of any, and no one is counted."""
    view = view_of(300)
    monkeypatch.setattr(LauncherView, "_task", pytest.fail)
    monkeypatch.setattr(Roster, "values", pytest.fail)
    monkeypatch.setattr(Roster, "__iter__", pytest.fail)
    assert gauges(view)[catalogue.WORKERS.name]["running",] == 300


def test_testimony_is_counted() -> None:
    """OOM kills add up over workers and attempts; of memory the highest peak counts."""
    view = view_of(2)
    view.counts.testified("w0", evidence.Testimony(oom_kills=2, peak_bytes=300))
    view.counts.testified("w1", evidence.Testimony(oom_kills=None))
    view.counts.testified("w0", evidence.Testimony(oom_kills=1, peak_bytes=200))
    assert view.counts.oom_kills == 3
    assert view.counts.peak_memory_bytes == {"w0": 300}


def gauges(view: LauncherView) -> dict[str, dict[tuple[str, ...], float]]:
    async def made() -> dict[str, dict[tuple[str, ...], float]]:
        families = launcher_gauges.of(view)()
        return {one.metric.name: dict(one.samples) for one in families}

    return asyncio.run(made())


def test_series_for_each_host_up_to_128() -> None:
    """Beyond, only the aggregate is there, and it is right."""
    for workers, each in ((128, True), (129, False)):
        view = view_of(workers)
        for name in phases(view):
            view.counts.testified(name, evidence.Testimony(peak_bytes=1000))
        view.counts.testified("w5", evidence.Testimony(peak_bytes=2000))
        seen = gauges(view)
        assert (catalogue.WORKER_WAIT.name in seen) is each
        assert (catalogue.PEAK_MEMORY.name in seen) is each
        assert seen[catalogue.LONGEST_WAIT.name] == {(): workers - 1}
        assert seen[catalogue.HIGHEST_PEAK.name] == {(): 2000}
        assert seen[catalogue.WORKERS.name]["running",] == workers


def test_a_loss_that_is_noticed_after_the_end_of_mpirun() -> None:
    """It counts once the verdict says that it belongs to the job; a worker that just left does not."""
    view = view_of(2)
    late = [
        evidence.Lost(host=host, why="gone", late=True, kind=Kind.GONE) for host in ("w0", "w1")
    ]
    view.counts.settle(late, ())
    assert gauges(view)[catalogue.LEASES_LOST.name] == {(): 0}
    assert phases(view) == {"w0": Phase.RUNNING, "w1": Phase.RUNNING}
    seen = evidence.Evidence(
        code=1, halt=None, stderr="", leased=2, workers=2, lost=(late[1],),
    )  # fmt: skip
    view.counts.settle(late, verdict.judge(seen, openmpi4, Layout(places=(), np=2)).lost)
    view.counts.settle((), ("w0", "w1"))  # the next attempt has nothing of this one
    assert gauges(view)[catalogue.LEASES_LOST.name] == {(): 1}
    assert phases(view) == {"w0": Phase.RUNNING, "w1": Phase.FAILED}


def test_a_loss_that_was_counted_in_time_counts_once() -> None:
    """The verdict of an attempt names it, too; neither that nor an earlier attempt counts it again."""
    view = view_of(1)
    lose(view, "w0", Kind.GONE)
    view.counts.settle([evidence.Lost(host="w0", why="gone", kind=Kind.GONE)], ["w0"])
    assert gauges(view)[catalogue.LEASES_LOST.name] == {(): 1}
