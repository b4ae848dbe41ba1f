"""Every query of the dashboard is answered by a Prometheus that has scraped real jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mpiboot.local.cluster import Cluster
from tests.helpers import memorycgroup, monitoring
from tests.helpers.agents import PYTHON, Agents
from tests.helpers.eventually import eventually
from tests.helpers.prometheus import GATEWAY, Prometheus

LONG_S = 60.0
LIMIT_BYTES = 100 << 20
GREEDY = (PYTHON, "-u", str(Path(__file__).with_name("programs") / "greedy.py"))
PUSHED = {"MPIBOOT_PUSHGATEWAY": GATEWAY}
# Title of a panel and letter of its query.
Query = tuple[str, str]
Answers = Mapping[Query, list[dict[str, Any]]]

EXPRESSIONS: dict[Query, str] = {
    (panel["title"], target["refId"]): target["expr"]
    for panel in monitoring.dashboard()["panels"]
    for target in panel.get("targets", ())
}
# What has nothing to show of a job that is well, and of one that has not ended.
TROUBLE: set[Query] = {("Outcomes", "C"), ("Alerts", "A")}
ENDS: set[Query] = {("Outcomes", letter) for letter in "ABDE"} | {("Agents", "B")}
# What is known of a worker's memory only when it has testified.
ENDS |= {("Peak memory", "A"), ("Peak memory", "B")}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """All answers: of a job while it runs, of the same when it has ended, of one that has failed."""

    running: Answers
    ended: Answers
    failed: Answers


def ask(prometheus: Prometheus, job: str) -> Answers:
    """Run every query as Grafana would, for a job and all of its agents."""
    return {
        query: prometheus.query(text.replace("$job", job).replace("$instance", ".+"))
        for query, text in EXPRESSIONS.items()
    }


def settled(
    prometheus: Prometheus, job: str, empty: set[Query], stages: dict[str, int] | None = None
) -> Answers:
    """Ask until all has arrived that shall, of that many agents in each stage; return the answers."""

    def check() -> Answers:
        answers = ask(prometheus, job)
        assert {query for query, answer in answers.items() if not answer} <= empty
        panel = "Stage of each agent"
        seen = values(answers[panel, "A"], "instance").values()
        assert stages in (None, Counter(state(panel, number) for number in seen))
        return answers

    return eventually(check, LONG_S, interval=0.5)


@pytest.fixture(scope="module")
def seen(root: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Two jobs, launchers first: one ends well, one has a rank that wants more memory than there is."""
    directory = tmp_path_factory.mktemp("seen")
    with ExitStack() as stack, Cluster() as cluster:
        try:
            groups = [stack.enter_context(memorycgroup.made(LIMIT_BYTES)) for _ in range(2)]
        except memorycgroup.NotHereError as fault:
            pytest.skip(str(fault))
        yield _play(Agents(cluster, directory), directory, groups)


def _play(agents: Agents, directory: Path, groups: list[Path]) -> Seen:
    go_on = directory / "go-on"
    jobs = {
        "healthy": ("sh", "-c", f"until test -e {go_on}; do sleep 0.1; done"),
        "failing": GREEDY,
    }
    names = [f"{job}-{end}" for job in jobs for end in ("launcher", "worker-1", "worker-2")]
    prometheus = Prometheus(agents, directory, names)
    launchers = {}
    for job, command in jobs.items():
        hosts = f"{job}-worker-1:1,{job}-worker-2:1"
        launchers[job] = agents.launcher(*command, hosts=hosts, name=f"{job}-launcher", env=PUSHED)
        launchers[job].until_stage("waiting", LONG_S)
    for job, group in zip(jobs, groups, strict=True):
        agents.worker(f"{job}-worker-1", agent=memorycgroup.inside(group), env=PUSHED)
        agents.worker(f"{job}-worker-2", env=PUSHED)
    running = settled(prometheus, "healthy", TROUBLE | ENDS, {"running": 3})
    go_on.touch()
    assert launchers["healthy"].wait(LONG_S) == 0
    assert launchers["failing"].wait(LONG_S) == 137
    agents.assert_global(stay=prometheus.pods)
    eventually(lambda: _assert_nothing_scraped(prometheus, list(jobs)), LONG_S)
    return Seen(
        running=running,
        ended=settled(prometheus, "healthy", TROUBLE),
        failed=settled(prometheus, "failing", set()),
    )


def _assert_nothing_scraped(prometheus: Prometheus, jobs: Sequence[str]) -> None:
    """All that is left of the jobs is what they have pushed."""
    for job in jobs:
        assert prometheus.query(f'up{{job="{job}"}} == 1') == []


def labels(answer: list[dict[str, Any]], *names: str) -> set[tuple[str, ...]]:
    """Return the values of some labels of each row."""
    return {tuple(row["metric"].get(name, "") for name in names) for row in answer}


def values(answer: list[dict[str, Any]], label: str) -> dict[str, float]:
    """Return the value of each row by one of its labels."""
    return {row["metric"].get(label, ""): float(row["value"][1]) for row in answer}


def state(panel: str, number: float) -> str:
    """Return what a timeline writes for a number."""
    (found,) = [one for one in monitoring.dashboard()["panels"] if one["title"] == panel]
    (mapping,) = found["fieldConfig"]["defaults"]["mappings"]
    text: str = mapping["options"][f"{number:g}"]["text"]
    return text


def test_every_query_is_answered(seen: Seen) -> None:
    """Each has rows of a failed job, and all but the few that are about trouble of one that is well."""
    assert all(seen.failed.values())
    assert {query for query, answer in seen.ended.items() if not answer} == TROUBLE
    assert {query for query, answer in seen.running.items() if not answer} <= TROUBLE | ENDS


def test_timelines_tell_states(seen: Seen) -> None:
    """The numbers of the queries are the names of phases and stages, live and as they were pushed."""
    told = {
        moment: {
            instance: state(panel, number)
            for instance, number in values(answers[panel, "A"], "instance").items()
        }
        for moment, answers, panel in (
            ("running", seen.running, "Phase of each agent"),
            ("stage", seen.running, "Stage of each agent"),
            ("ended", seen.ended, "Phase of each agent"),
            ("failed", seen.failed, "Phase of each agent"),
        )
    }
    workers = ("healthy-worker-1", "healthy-worker-2")
    assert told["running"] == dict.fromkeys(("healthy-launcher", *workers), "Running")
    assert told["stage"] == dict.fromkeys(("healthy-launcher", *workers), "running")
    assert told["ended"] == dict.fromkeys(("healthy-launcher", *workers), "Succeeded")
    assert told["failed"]["failing-launcher"] == "Failed"


def test_the_table_of_outcomes(seen: Seen) -> None:
    """Code, who should act and the first rank that failed, in one row for each job."""
    failed = {letter: seen.failed["Outcomes", letter] for letter in "ABCDE"}
    assert values(failed["A"], "instance") == {"failing-launcher": 137}
    assert labels(failed["B"], "instance", "fault") == {("failing-launcher", "user")}
    (rank,) = labels(failed["C"], "instance", "rank", "host", "signal")
    assert rank == ("failing-launcher", "0", "failing-worker-1", "9")
    assert all(len(rows) == 1 for rows in failed.values())
    assert values(seen.ended["Outcomes", "A"], "instance") == {"healthy-launcher": 0}
    assert labels(seen.ended["Outcomes", "B"], "fault") == {("none",)}


def test_figures_are_those_of_the_jobs(seen: Seen) -> None:
    """Counts of workers, kills and memory are the same as what was done."""
    running, failed = seen.running, seen.failed
    for letter in "ABC":
        assert values(running["Workers expected and ready", letter], "job") == {"healthy": 2}
    assert values(running["Leases", "A"], "job") == {"healthy": 2}
    assert labels(running["Wait for each worker", "A"], "worker") == {
        ("healthy-worker-1",), ("healthy-worker-2",),
    }  # fmt: skip
    assert values(failed["OOM kills", "A"], "job")["failing"] >= 1
    shares = values(running["Memory of each worker, of its limit", "A"], "instance")
    assert 0 < shares["healthy-worker-1"] < 1
    assert values(failed["Peak memory", "A"], "worker")["failing-worker-1"] > 0.9 * LIMIT_BYTES


def test_alerts_that_fire(seen: Seen) -> None:
    """The example's rule file is at work: of the failed job it tells, of the other it does not."""
    told = labels(seen.failed["Alerts", "A"], "alertname")
    assert {("MpibootJobFailed",), ("MpibootOutOfMemory",)} <= told
    assert seen.running["Alerts", "A"] == seen.ended["Alerts", "A"] == []
