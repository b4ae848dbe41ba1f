"""What the outside sees of an agent: probes, metrics, status file, termination log, memory."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from mpiboot.local.cluster import Bind
from mpiboot.model.termination import TERMINATION_LIMIT
from tests.helpers.agents import MPIBOOT, Agent, Agents
from tests.helpers.eventually import eventually

# Open MPI waits two seconds over each rank that failed; these tests are not about that.
QUICK = ("--mca", "odls_base_sigkill_timeout", "0")
HEAVY = ("paramiko", "cryptography", "prometheus_client", "psutil", "yaml", "rich")
IDLE_RSS_BYTES = 40 << 20  # a bare interpreter with asyncio has half of that
SSHD = "/usr/sbin/sshd"
UNPROVEN = "no login to this container's sshd has worked yet"


def get(agent: Agent, path: str) -> tuple[int, str, str]:
    """Fetch a page inside the pod; return status, content type and body; status 0: no answer."""
    url = f"http://localhost:9650{path}"
    told = "\n%{http_code} %{content_type}"
    done = agent.pod.exec(["curl", "-sS", "-w", told, url])
    body, _, tail = done.stdout.rpartition("\n")
    status, _, kind = tail.partition(" ")
    return int(status), kind, body


def assert_answers(agent: Agent, path: str, status: int, body: str) -> None:
    got, _, text = get(agent, path)
    assert (got, text) == (status, body)


def metrics(agent: Agent) -> dict[str, Metric]:
    """Scrape an agent and let Prometheus' own parser read the answer."""
    status, kind, body = get(agent, "/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return {family.name: family for family in text_string_to_metric_families(body)}


def value(families: Mapping[str, Metric], name: str, **labels: str) -> float:
    """Return the value of one sample, by its full name and labels."""
    samples = [one for family in families.values() for one in family.samples]
    (found,) = [one.value for one in samples if (one.name, one.labels) == (name, labels)]
    return float(found)


def assert_conventions(families: Mapping[str, Metric]) -> None:
    """Names have our prefix, base units and the suffix of their type; each has a help text."""
    for name, family in families.items():
        assert re.fullmatch(r"mpiboot_[a-z]+(_[a-z]+)*", name)
        assert family.documentation.endswith(".")
        assert not re.search(r"_(ms|millis\w*|minutes?|hours?|kb|mb|percent|total)$", name)
        wanted = f"{name}_total" if family.type == "counter" else name
        assert {sample.name for sample in family.samples} <= {wanted}
        assert family.type in {"counter", "gauge"}
        if "seconds" in family.documentation:
            assert name.endswith("_seconds")


def probe(agent: Agent, what: str) -> tuple[int, str]:
    done = agent.pod.exec([*MPIBOOT, "probe", "--for", what])
    assert not done.stderr
    return done.returncode, done.stdout


def readiness(worker: Agent) -> tuple[bool, str]:
    status = worker.status
    return status["ready"], status["not_ready_reason"]


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A file; `sshd` beside it is an sshd that does not listen before the file exists."""
    path = tmp_path / "gate"
    wait = f"until test -e {path}; do sleep 0.02; done"
    wrapper = tmp_path / "sshd"
    wrapper.write_text(f'#!/bin/sh\nif test "$1" = -D; then {wait}; fi\nexec {SSHD} "$@"\n')
    wrapper.chmod(0o755)
    return path


def test_worker_is_ready_when_a_login_works_and_not_before(
    agents: Agents, gate: Path, tmp_path: Path
) -> None:
    """Before a login worked every probe says no, with the reason; then yes; at the end no file."""
    ready = tmp_path / "ready"
    options = ("--sshd", f"{tmp_path}/sshd", "--ready-file", str(ready))
    worker = agents.worker("w1", *options)
    eventually(lambda: assert_answers(worker, "/readyz", 503, f"{UNPROVEN}\n"))
    assert get(worker, "/healthz")[::2] == (200, "worker starting\n")
    assert probe(worker, "ready") == (1, f"{UNPROVEN}\n")
    assert probe(worker, "live") == (0, "live\n")
    assert value(metrics(worker), "mpiboot_ready") == 0
    assert readiness(worker) == (False, UNPROVEN)
    assert not ready.exists()

    gate.touch()
    eventually(lambda: assert_answers(worker, "/readyz", 200, "ready\n"))
    assert ready.exists()
    assert get(worker, "/healthz")[::2] == (200, "worker ready\n")
    assert probe(worker, "ready") == (0, "ready\n")
    assert probe(worker, "live") == (0, "live\n")
    assert value(metrics(worker), "mpiboot_ready") == 1
    assert readiness(worker) == (True, "")

    worker.pod.send(signal.SIGTERM)
    assert worker.wait(5) == 143
    assert not ready.exists()
    assert [step["stage"] for step in worker.status["stages"]] == [
        "starting", "ready", "ending", "ended",
    ]  # fmt: skip
    agents.assert_global()


def test_worker_whose_sshd_lets_nobody_in_is_never_ready(agents: Agents, tmp_path: Path) -> None:
    """A port that accepts is not enough: without a login the worker fails with 242, never ready."""
    wrapper = tmp_path / "sshd"
    wrapper.write_text(f'#!/bin/sh\nexec {SSHD} "$@" -o DenyUsers=root\n')
    wrapper.chmod(0o755)
    ready = tmp_path / "ready"
    worker = agents.worker("w1", "--sshd", str(wrapper), "--ready-file", str(ready))
    assert worker.wait(15) == 242
    assert not ready.exists()
    assert "ready" not in [step["stage"] for step in worker.status["stages"]]
    assert "exit 242: sshd runs, but a login of root to this container fails" in worker.log
    assert "not allowed because listed in DenyUsers" in worker.log
    agents.assert_global()


@pytest.mark.parametrize("facts_after_s", [0, 1])
def test_job_that_is_quicker_than_the_proof(
    agents: Agents, tmp_path: Path, facts_after_s: int
) -> None:
    """A launcher may start its job while the worker still proves its login; both then show it.

    Also where the worker did not know its facts yet when the launcher came.
    """
    gate = tmp_path / "gate"
    slow = tmp_path / "bin" / "ssh"
    slow.parent.mkdir()
    slow.write_text(
        f'#!/bin/sh\nuntil test -e {gate}; do sleep 0.02; done\nexec /usr/bin/ssh "$@"\n'
    )
    slow.chmod(0o755)
    if facts_after_s:
        mpirun = slow.parent / "mpirun"
        mpirun.write_text(f'#!/bin/sh\nsleep {facts_after_s}; exec /usr/bin/mpirun "$@"\n')
        mpirun.chmod(0o755)
    path = f"{slow.parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    worker = agents.worker("w1", env={"PATH": path})
    job = f"until test -e {tmp_path}/go-on; do sleep 0.02; done"
    launcher = agents.launcher("sh", "-c", job)
    launcher.until_stage("running")
    assert readiness(worker) == (False, UNPROVEN)
    assert worker.status["stage"] == "starting"
    gate.touch()
    worker.until_stage("running")
    (tmp_path / "go-on").touch()
    assert launcher.wait() == 0
    agents.assert_global()
    _assert_told(worker, ["starting", "ready", "running", "ending", "ended"])


def test_http_answers_get_and_head_only(agents: Agents) -> None:
    """The pages are read-only; what does not exist is 404; nonsense ends the connection only."""
    (worker,) = agents.workers(1)
    worker.until_ready()
    url = "http://localhost:9650"
    code = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}"]
    asked = {
        "head": [*code, "-I", f"{url}/readyz"],
        "query": [*code, f"{url}/readyz?verbose"],
        "post": [*code, "-d", "x", f"{url}/readyz"],
        "absent": [*code, f"{url}/secret"],
    }
    got = {name: worker.pod.exec(argv).stdout for name, argv in asked.items()}
    assert got == {"head": "200", "query": "200", "post": "405", "absent": "404"}
    junk = "exec 3<>/dev/tcp/localhost/9650; head -c 100000 /dev/zero >&3; timeout 5 cat <&3"
    worker.pod.exec(["bash", "-c", junk])
    assert_answers(worker, "/readyz", 200, "ready\n")
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(5) == 143
    agents.assert_global()


def test_http_can_be_switched_off(agents: Agents) -> None:
    """With --http-port 0 nothing listens, and `mpiboot probe` answers all the same."""
    (worker,) = agents.workers(1, "--http-port", "0")
    worker.until_ready()
    assert get(worker, "/readyz")[0] == 0
    assert probe(worker, "ready") == (0, "ready\n")
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(5) == 143
    agents.assert_global()


def test_probe_where_no_agent_runs(agents: Agents) -> None:
    """`mpiboot probe` fails with one line where there is no agent."""
    pod = agents.start("empty", ["sleep", "infinity"])
    assert probe(pod, "ready") == (1, "no mpiboot runs here\n")
    assert probe(pod, "live") == (1, "no mpiboot runs here\n")
    pod.pod.kill()


def test_launcher_through_its_stages(agents: Agents, tmp_path: Path) -> None:
    """Status, probes and metrics of both roles tell the stages of one job as they come."""
    go_on = tmp_path / "go-on"
    job = f"until test -e {go_on}; do sleep 0.02; done; exit 7"
    launcher = agents.launcher("sh", "-c", job, hosts="launcher:1,w1:1", options=QUICK)
    launcher.until_stage("waiting")
    assert launcher.status["outcome"] is None
    assert get(launcher, "/readyz")[::2] == (503, "waiting\n")
    assert probe(launcher, "ready")[0] == 1
    assert probe(launcher, "live") == (0, "live\n")
    waiting = eventually(lambda: _assert_metrics(launcher, "mpiboot_workers_ready", 1))
    assert_conventions(waiting)
    assert value(waiting, "mpiboot_workers_expected") == 2
    assert value(waiting, "mpiboot_stage", stage="waiting") == 1
    assert value(waiting, "mpiboot_stage_seconds", stage="waiting") > 0
    assert value(waiting, "mpiboot_probe_failures_total", kind="no_name") >= 1

    (worker,) = agents.workers(1)
    launcher.until_stage("running")
    assert get(launcher, "/readyz")[::2] == (200, "ready\n")
    assert probe(launcher, "ready") == (0, "ready\n")
    running = metrics(launcher)
    assert_conventions(running)
    assert value(running, "mpiboot_workers_ready") == 2
    assert value(running, "mpiboot_worker_wait_seconds", worker="w1") > 0
    assert value(running, "mpiboot_job_duration_seconds") > 0
    worker.until_stage("running")
    serving = metrics(worker)
    assert_conventions(serving)
    assert value(serving, "mpiboot_leases") == 1
    assert value(serving, "mpiboot_sshd_restarts_total") == 0
    assert value(serving, "mpiboot_reaped_orphans_total") >= 0
    assert worker.status["leases"] == ["launcher"]

    worker.pod.send(signal.SIGSTOP)  # it holds the launcher at its goodbye
    go_on.touch()
    launcher.until_stage("ending")
    assert value(metrics(launcher), "mpiboot_job_exit_code") == 7
    worker.pod.send(signal.SIGCONT)
    assert launcher.wait() == 7
    agents.assert_global()
    _assert_told(launcher, ["starting", "waiting", "launching", "running", "ending", "ended"])
    _assert_told(worker, ["starting", "ready", "running", "ending", "ended"])
    states = {host["name"]: host["state"] for host in launcher.status["hosts"]}
    assert states == {"launcher": "ready", "w1": "ready"}
    assert launcher.status["command"] == ["sh", "-c", job]


def _assert_metrics(agent: Agent, name: str, expected: float) -> dict[str, Metric]:
    families = metrics(agent)
    assert value(families, name) == expected
    return families


def _assert_told(agent: Agent, stages: list[str]) -> None:
    """Each stage is in the status, in order, with a time in UTC that does not go back."""
    steps = agent.status["stages"]
    assert [step["stage"] for step in steps] == stages
    times = [step["since"] for step in steps]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)
    assert times == sorted(times)
    assert agent.status["outcome"]["code"] == agent.pod.poll()


def succeed(agents: Agents, name: str, log: str, binds: tuple[Bind, ...] = ()) -> Agent:
    """Run a job that succeeds at once, with that termination log."""
    options = ["--termination-log", log]
    launcher = agents.launcher("true", hosts=f"{name}:1", name=name, options=options, binds=binds)
    assert launcher.wait(10) == 0
    return launcher


def test_termination_log(agents: Agents, tmp_path: Path) -> None:
    """It is one line of JSON, written in place; only a file that was named is made."""
    there, named, locked = (tmp_path / name for name in ("there", "named", "locked"))
    there.write_text("x" * 10_000)
    locked.write_text("as it was")
    file = there.stat().st_ino
    default = "/dev/termination-log"
    succeed(agents, "there", default, (Bind(source=str(there), target=default),))
    absent = succeed(agents, "absent", default).pod.root / default[1:]
    succeed(agents, "named", str(named))
    succeed(agents, "locked", default, (Bind(source=str(locked), target=default, read_only=True),))
    told = json.loads(there.read_text())
    assert told["role"] == "launcher"
    assert (told["code"], told["fault"], told["message"]) == (0, "none", "the job succeeded")
    assert there.stat().st_ino == file
    assert json.loads(named.read_text()) == told
    assert not absent.exists()
    assert locked.read_text() == "as it was"
    agents.assert_global()


def test_termination_log_of_a_failure_is_short(agents: Agents, tmp_path: Path) -> None:
    """With 300 workers that never come the message is JSON, its cause comes first, 4096 bytes."""
    log = tmp_path / "termination-log"
    log.touch()
    hosts = ",".join(f"a-name-of-some-length-{number}.invalid:1" for number in range(300))
    options = ["--termination-log", str(log), "--wait-timeout", "0.5"]
    launcher = agents.launcher("true", hosts=hosts, options=options)
    assert launcher.wait(15) == 240
    text = log.read_text()
    assert len(text.encode()) <= TERMINATION_LIMIT
    told = json.loads(text)
    assert (told["code"], told["fault"]) == (240, "infrastructure")
    assert told["message"].startswith("0 of 300 workers ready after ")
    agents.assert_global()


def test_idle_worker_is_small(agents: Agents) -> None:
    """A ready worker has never imported anything heavy; the first scrape loads the metrics."""
    # The interpreter itself tells each import of this process, from the first to the last.
    tell = (sys.executable, "-I", "-X", "importtime", "-m", "mpiboot")
    worker = agents.mpiboot("w1", ["worker"], agent=tell)
    worker.until_ready()
    place = Path(f"/proc/{worker.pod.pid}")
    mapped = (place / "maps").read_text()
    rss_kib = int(re.findall(r"VmRSS:\s+(\d+) kB", (place / "status").read_text())[0])
    assert {"asyncio", "mpiboot"} <= _imported(worker)
    assert _imported(worker) & set(HEAVY) == set()
    assert [name for name in HEAVY if f"/{name}/" in mapped] == []
    assert rss_kib * 1024 < IDLE_RSS_BYTES
    metrics(worker)
    assert _imported(worker) & set(HEAVY) == {"prometheus_client"}
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(5) == 143
    agents.assert_global()


def test_the_proof_of_a_login_is_the_only_connection(agents: Agents) -> None:
    """Sshd's own word tells when it listens: no connection is made and closed to find that out."""
    worker = agents.mpiboot("w1", ["worker", "--sshd-log-level", "VERBOSE"])
    worker.until_ready()
    assert worker.log.count("sshd: Connection from 127.0.0.1 ") == 1
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(5) == 143
    agents.assert_global()


def _imported(agent: Agent) -> set[str]:
    """Return the top-level packages that a process has imported."""
    names = re.findall(r"^import time: .*\| +([\w.]+)$", agent.log, re.MULTILINE)
    return {name.split(".")[0] for name in names}
