"""What stays of a run: status that keeps to its schema, the whole record, metrics in a file or pushed."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mpiboot.local.cluster import Bind
from mpiboot.report import catalogue
from tests.helpers.agents import Agent, Agents, program
from tests.helpers.eventually import eventually
from tests.helpers.schema import assert_valid

# Open MPI waits two seconds over each rank that failed; these tests are not about that.
QUICK = ("--mca", "odls_base_sigkill_timeout", "0")
LONG_S = 60.0


def conditions(agent: Agent) -> dict[str, tuple[str, str]]:
    """Return status and reason of each condition."""
    return {one["type"]: (one["status"], one["reason"]) for one in agent.status["conditions"]}


def held(agent: Agent) -> set[str]:
    return {kind for kind, (status, _) in conditions(agent).items() if status == "True"}


def phases(agent: Agent) -> dict[str, str]:
    return {one["name"]: one["phase"] for one in agent.status["tasks"]}


def samples(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    """Read an exposition text: name and values of the labels, by the labels' names → value."""
    return {
        (one.name, tuple(value for _, value in sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def assert_waits_for(launcher: Agent, ready: int, expected: int) -> None:
    """The status file follows the wait, not only its beginning."""
    assert launcher.status_path.exists()
    status = launcher.status
    assert status["stage"] == "waiting"
    assert status["expected"] == expected
    assert status["aggregate"]["running"] == ready
    assert status["aggregate"]["pending"] == expected - ready


# Status.


def test_status_of_a_job_that_succeeds(agents: Agents, tmp_path: Path) -> None:
    """In each stage both roles' status keeps to the schema; conditions, tasks and counts follow."""
    go_on = tmp_path / "go-on"
    (w1,) = agents.workers(1)
    job = f"until test -e {go_on}; do sleep 0.05; done"
    launcher = agents.launcher("sh", "-c", job, hosts="w1:1,w2:1")
    eventually(lambda: assert_waits_for(launcher, 1, 2), LONG_S)
    assert_valid(launcher.status)
    assert held(launcher) == set()
    assert conditions(launcher)["Initialized"] == ("False", "WaitingForWorkers")
    assert phases(launcher) == {"launcher": "Pending", "w1": "Running", "w2": "Pending"}
    assert launcher.status["attempts"][0]["outcome"] is None
    assert launcher.status["phase"] == "Pending"
    w1.until_stage("ready", LONG_S)
    assert_valid(w1.status)
    assert held(w1) == {"Initialized", "Running"}
    assert phases(w1) == {"w1": "Running"}

    agents.worker("w2")
    launcher.until_stage("running", LONG_S)
    w1.until_stage("running", LONG_S)
    assert_valid(launcher.status)
    assert_valid(w1.status)
    assert held(launcher) == {"Initialized", "Running"}
    assert launcher.status["phase"] == "Running"
    running_since = launcher.status["conditions"][1]["lastTransitionTime"]

    go_on.touch()
    assert launcher.wait(LONG_S) == 0
    agents.assert_global()  # validates, too
    assert held(launcher) == {"Initialized", "Completed"}
    assert phases(launcher) == {"launcher": "Succeeded", "w1": "Succeeded", "w2": "Succeeded"}
    assert launcher.status["aggregate"]["succeeded"] == 2
    (attempt,) = launcher.status["attempts"]
    assert (attempt["number"], attempt["kind"], attempt["outcome"]["code"]) == (1, "first", 0)
    assert launcher.status["conditions"][1]["lastTransitionTime"] > running_since
    assert held(w1) == {"Initialized", "Completed"}


def test_status_of_a_job_that_fails(agents: Agents) -> None:
    """Failed and ReplicaFailure hold, Completed does not; the worker of the rank is Failed."""
    agents.workers(1)
    launcher = agents.launcher("sh", "-c", "exit 7", options=QUICK)
    assert launcher.wait(LONG_S) == 7
    agents.assert_global()
    assert held(launcher) == {"Initialized", "Failed", "ReplicaFailure"}
    assert conditions(launcher)["Failed"] == ("True", "JobFailed")
    assert phases(launcher) == {"launcher": "Failed", "w1": "Failed"}
    assert launcher.status["tasks"][1]["reason"] == "rank 0 on w1 ended with 7"


def test_status_of_a_launcher_that_waits_in_vain(agents: Agents) -> None:
    """Nothing was initialized; the worker that never came is Pending, with the reason."""
    agents.workers(1)
    options = ("--wait-timeout", "3")
    launcher = agents.launcher("true", hosts="w1:1,absent.invalid:1", options=options)
    assert launcher.wait(LONG_S) == 240
    agents.assert_global()
    assert held(launcher) == {"Failed"}
    assert conditions(launcher)["Failed"] == ("True", "WorkersNotReady")
    assert phases(launcher)["absent.invalid"] == "Pending"
    assert "does not resolve" in launcher.status["tasks"][2]["reason"]


def test_status_of_agents_that_are_stopped(agents: Agents) -> None:
    """TERM at a launcher that waits and at a worker that nobody used: Failed, with `Stopped`."""
    worker = agents.worker("w1")
    launcher = agents.launcher("true", hosts="absent.invalid:1")
    launcher.until_stage("waiting", LONG_S)
    worker.until_stage("ready", LONG_S)
    for agent in (launcher, worker):
        agent.pod.send(signal.SIGTERM)
        assert agent.wait(LONG_S) == 143
        assert conditions(agent)["Failed"] == ("True", "Stopped")
    agents.assert_global()


def test_status_of_a_job_that_is_tried_again(agents: Agents, tmp_path: Path) -> None:
    """Each attempt is told with its kind and its end; restarts are counted, in the metrics, too."""
    metrics = tmp_path / "launcher.prom"
    once = tmp_path / "once"
    job = f"test -e {once} && exit 0; touch {once}; exit 9"
    agents.workers(1)
    options = ("--max-restarts", "3", "--metrics-file", str(metrics), *QUICK)
    launcher = agents.launcher("sh", "-c", job, options=options)
    assert launcher.wait(LONG_S) == 0
    agents.assert_global()
    attempts = launcher.status["attempts"]
    assert [(one["number"], one["kind"]) for one in attempts] == [(1, "first"), (2, "restart")]
    assert [one["outcome"]["code"] for one in attempts] == [9, 0]
    assert launcher.status["restarts"] == 1
    assert launcher.status["launch_retries"] == 0
    assert launcher.status["tasks"][0]["restarts"] == 1
    assert held(launcher) == {"Initialized", "Completed"}  # what failed before is healed
    seen = samples(metrics.read_text())
    assert seen["mpiboot_attempts_total", ()] == 2
    assert seen["mpiboot_restarts_total", ()] == 1


def test_status_of_a_job_that_loses_a_worker(agents: Agents, tmp_path: Path) -> None:
    """The lost worker is Failed and named, and the lease is counted."""
    metrics = tmp_path / "launcher.prom"
    agents.workers(2)
    options = ("--metrics-file", str(metrics), *QUICK)
    launcher = agents.launcher("sh", "-c", "echo up; exec sleep 1000", options=options)
    eventually(lambda: assert_up(launcher, 2), LONG_S)
    agents.all[1].pod.kill()
    assert launcher.wait(LONG_S) == 241
    agents.assert_global()
    assert held(launcher) == {"Initialized", "Failed", "ReplicaFailure"}
    assert conditions(launcher)["Failed"][1] == "WorkerLost"
    assert phases(launcher)["w2"] == "Failed"
    (lost,) = [one for one in launcher.status["tasks"] if one["name"] == "w2"]
    assert lost["reason"].startswith("w2 was lost: ")
    seen = samples(metrics.read_text())
    assert seen["mpiboot_leases_lost_total", ()] == 1
    assert seen["mpiboot_fault", ("infrastructure",)] == 1


def assert_up(launcher: Agent, ranks: int) -> None:
    assert launcher.out.count(b"up") == ranks


# The record.


@pytest.mark.parametrize("form", [(), ("--tag-output",)])
def test_the_record_of_a_run(agents: Agents, tmp_path: Path, form: tuple[str, ...]) -> None:
    """Status, failures, plan, settings with origins, times, and the last output as it was shown."""
    place = tmp_path / "volume" / "not-there-yet"
    noise = "i=0; while test $i -lt 3000; do echo line $i; i=$((i+1)); done; exit 3"
    env = {"MPIBOOT_REPORT_FILE": str(place / "worker.json")}
    agents.worker("w1", env=env)
    launcher = agents.launcher(
        "sh", "-c", noise,
        options=("--report-file", f"{place}/launcher.json", "--report-output-kb", "4", *form, *QUICK),
    )  # fmt: skip
    assert launcher.wait(LONG_S) == 3
    agents.assert_global()
    record = json.loads((place / "launcher.json").read_text())
    assert (place / "launcher.json").stat().st_mode & 0o777 == 0o644
    assert record["status"] == launcher.status
    assert record["status"]["outcome"]["failures"][0]["rank"] == 0
    assert record["plan"]["argv"][0].endswith("mpirun")
    assert record["plan"]["notes"]
    assert record["settings"]["report_output_kb"] == {
        "value": "4",
        "origin": "flag --report-output-kb",
    }
    assert record["seconds"]["running"] > 0
    output = record["output"]
    assert output["bytes_kept"] == 4096 == len(output["text"])
    assert output["bytes_seen"] > 4096
    assert "line 2999\n" in output["text"]
    of_worker = json.loads((place / "worker.json").read_text())
    assert of_worker["status"] == agents.all[0].status
    assert "output" not in of_worker
    assert "plan" not in of_worker


def test_the_output_is_kept_as_it_was_shown(agents: Agents, tmp_path: Path) -> None:
    """What stands in the record is what went to stdout and stderr, bytes that are no text replaced."""
    agents.workers(1)
    file = tmp_path / "record.json"
    launcher = agents.launcher(
        "sh", "-c", r"echo words >&2; printf 'one\377\ntwo\n'",
        options=("--report-file", str(file)),
    )  # fmt: skip
    assert launcher.wait(LONG_S) == 0
    agents.assert_global()
    assert launcher.out == b"one\xff\ntwo\n"
    text = json.loads(file.read_text())["output"]["text"]
    assert "words\n" in launcher.log
    assert "words\n" in text
    assert launcher.out.decode(errors="replace") in text


def test_a_record_that_cannot_be_written_is_one_warning(agents: Agents) -> None:
    """The code stays the job's; one line says where and why, for either role."""
    env = {"MPIBOOT_REPORT_FILE": "/proc/nowhere/record.json"}
    worker = agents.worker("w1", env=env)
    launcher = agents.launcher("sh", "-c", "exit 7", options=QUICK, env=env)
    assert launcher.wait(LONG_S) == 7
    agents.assert_global()
    for agent in (worker, launcher):
        warnings = [line for line in agent.log.splitlines() if "/proc/nowhere" in line]
        assert len(warnings) == 1, agent.log
        assert "warning: cannot write the report file" in warnings[0]


def test_a_file_that_is_a_mount_is_written_in_place(agents: Agents, tmp_path: Path) -> None:
    """A bind-mounted file cannot be replaced: its content is."""
    kept = tmp_path / "kept.json"
    kept.write_text("x" * 100_000)
    inode = kept.stat().st_ino
    target = tmp_path / "mounted.json"
    target.touch()
    agents.workers(1)
    launcher = agents.launcher(
        "true",
        options=("--report-file", str(target)),
        binds=(Bind(source=str(kept), target=str(target)),),
    )
    assert launcher.wait(LONG_S) == 0
    agents.assert_global()
    assert kept.stat().st_ino == inode
    assert json.loads(kept.read_text())["status"]["outcome"]["code"] == 0


# Metrics at the end.


def test_metrics_in_a_file(agents: Agents, tmp_path: Path) -> None:
    """Both roles leave all their metrics, readable by others, and nothing that is half written."""
    files = {"w1": tmp_path / "worker.prom", "launcher": tmp_path / "launcher.prom"}
    worker = agents.worker("w1", "--metrics-file", str(files["w1"]))
    options = ("--metrics-file", str(files["launcher"]), *QUICK)
    launcher = agents.launcher("sh", "-c", "exit 7", options=options)
    assert launcher.wait(LONG_S) == 7
    agents.assert_global()
    assert sorted(one.name for one in tmp_path.glob("*.prom*")) == ["launcher.prom", "worker.prom"]
    assert all(file.stat().st_mode & 0o777 == 0o644 for file in files.values())
    seen = samples(files["launcher"].read_text())
    assert seen["mpiboot_job_exit_code", ()] == 7
    assert seen["mpiboot_exit_code", ()] == 7
    assert -1 < files["launcher"].stat().st_mtime - seen["mpiboot_end_time_seconds", ()] < LONG_S
    assert seen["mpiboot_fault", ("user",)] == 1
    assert seen["mpiboot_phase", ("Failed",)] == 1
    assert seen["mpiboot_condition", ("Failed", "True")] == 1
    assert seen["mpiboot_first_failure", ("7", "w1", "0", "")] == 1
    assert seen["mpiboot_workers", ("failed",)] == 1
    assert seen["mpiboot_attempts_total", ()] == 1
    assert seen["mpiboot_restarts_total", ()] == 0
    assert seen["mpiboot_leases_held", ()] == 0  # they were all released
    assert seen["mpiboot_job_duration_seconds", ()] > 0
    assert samples(files["w1"].read_text())["mpiboot_exit_code", ()] == 0
    known = {metric.name: metric for metric in catalogue.every_metric()}
    for agent, role in ((launcher, "launcher"), (worker, "worker")):
        text = files[agent.name].read_text()
        names = {name for name, _ in samples(text)}
        assert names <= set(known)
        assert all(role in known[name].roles for name in names)
        told = [line for line in text.splitlines() if line.startswith("# HELP")]
        assert len(told) == len(set(told))


class Gateway:
    """A pod that stands in for a Pushgateway."""

    def __init__(self, agents: Agents, file: Path, status: int) -> None:
        self._file = file
        words = program("gateway.py", str(file), str(status))
        self.pod = agents.start("gateway", words)
        eventually(self._assert_up, LONG_S)

    def _assert_up(self) -> None:
        assert self.pod.out == b"up\n"

    @property
    def heard(self) -> list[dict[str, Any]]:
        """The requests so far."""
        if not self._file.exists():
            return []
        return [json.loads(line) for line in self._file.read_text().splitlines()]


@pytest.fixture
def gateways(agents: Agents, tmp_path: Path) -> Iterator[Any]:
    made: list[Gateway] = []

    def make(status: int) -> Gateway:
        made.append(Gateway(agents, tmp_path / "heard", status))
        return made[-1]

    yield make
    for one in made:
        one.pod.pod.kill()


def test_a_short_job_is_seen_by_a_pushgateway(agents: Agents, gateways: Any) -> None:
    """Both roles push their last metrics, each as a group of its own; credentials stay unseen."""
    gateway = gateways(202)
    env = {"MPIBOOT_PUSHGATEWAY": "http://me:geheim@gateway:9091", "MPIBOOT_PUSH_JOB": "short"}
    worker = agents.worker("w1", env=env)
    launcher = agents.launcher("true", hosts="w1:1", env=env)
    assert launcher.wait(LONG_S) == 0
    agents.assert_global(stay=[gateway.pod])
    groups = {one["path"]: one for one in gateway.heard}
    assert set(groups) == {
        "/metrics/job/short/instance/launcher/role/launcher",
        "/metrics/job/short/instance/w1/role/worker",
    }
    pushed = groups["/metrics/job/short/instance/launcher/role/launcher"]
    assert pushed["headers"]["Authorization"] == "Basic bWU6Z2VoZWlt"
    assert pushed["headers"]["Content-Type"].startswith("text/plain; version=0.0.4")
    assert samples(pushed["body"])["mpiboot_job_exit_code", ()] == 0
    assert samples(pushed["body"])["mpiboot_stage", ("ended",)] == 1
    for agent in (worker, launcher):
        assert "geheim" not in agent.log
        assert "warning" not in agent.log


def test_a_pushgateway_that_says_no(agents: Agents, gateways: Any) -> None:
    """Two tries, one warning with its first words, and the job's own code."""
    gateway = gateways(400)
    agents.worker("w1")
    options = ("--pushgateway", "http://me:geheim@gateway:9091", *QUICK)
    launcher = agents.launcher("sh", "-c", "exit 7", hosts="w1:1", options=options)
    assert launcher.wait(LONG_S) == 7
    agents.assert_global(stay=[gateway.pod])
    assert len(gateway.heard) == 2
    told = "it answered 400: metrics of yesterday"
    assert [told in line for line in launcher.log.splitlines()].count(True) == 1
    assert "geheim" not in launcher.log


def test_a_pushgateway_that_hangs(agents: Agents, gateways: Any) -> None:
    """It gets five seconds; then one warning, and the job's own code."""
    gateway = gateways(0)
    worker = agents.worker("w1")
    launcher = agents.launcher(
        "sh", "-c", "exit 7", hosts="w1:1",
        options=("--pushgateway", "http://gateway:9091", *QUICK),
    )  # fmt: skip
    assert worker.wait(LONG_S) == 0  # it has heard of the end; the launcher ends now, too
    begun = time.monotonic()
    assert launcher.wait(LONG_S) == 7
    assert time.monotonic() - begun < 15  # 5 s, on a machine that is slow
    agents.assert_global(stay=[gateway.pod])
    assert gateway.heard
    warnings = [line for line in launcher.log.splitlines() if "cannot push" in line]
    assert len(warnings) == 1, launcher.log


def test_nobody_there_to_push_to(agents: Agents) -> None:
    """A name that does not resolve costs a line, not the code."""
    agents.worker("w1")
    options = ("--pushgateway", "http://absent.invalid:9091")
    launcher = agents.launcher("true", hosts="w1:1", options=options)
    assert launcher.wait(LONG_S) == 0
    agents.assert_global()
    assert launcher.log.count("cannot push metrics to http://absent.invalid:9091/") == 1


@pytest.mark.parametrize("role", ["worker", "launcher"])
def test_a_url_that_is_none_is_told_at_the_start(agents: Agents, role: str) -> None:
    """78 before anybody is awaited, one line, without the password."""
    options = ("--pushgateway", "ftp://me:geheim@gateway")
    if role == "worker":
        agent = agents.worker("w1", *options)
    else:
        agent = agents.launcher("true", hosts="absent.invalid:1", options=options)
    assert agent.wait(LONG_S) == 78
    agents.assert_global()
    assert agent.log.count("is no URL of a Pushgateway") == 1
    assert "geheim" not in agent.log
    assert "geheim" not in json.dumps(agent.status)
