"""What those see who look at a job: /view.json, /events, and the view in any of its containers."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mpiboot.local.cluster import Bind
from tests.helpers.agents import Agent, Agents
from tests.helpers.eventually import eventually
from tests.helpers.schema import assert_valid

LOOK = """
import asyncio, json, os, sys
from mpiboot.roles import onlooking

async def main():
    count = int(sys.argv[1])
    async for view in onlooking.views("", os.environ, 0.2):
        print(json.dumps(view), flush=True)
        count -= 1
        if not count:
            return

asyncio.run(main())
"""
CROWD = """
import socket, urllib.error, urllib.request

def ask(path):
    made = socket.create_connection(("localhost", 9650), timeout=10)
    made.sendall(f"GET {path} HTTP/1.1\\r\\n\\r\\n".encode())
    return made

made = [ask("/events") for _ in range(40)]
codes = [one.recv(12)[-3:].decode() for one in made]
print(codes.count("200"), codes.count("503"))
try:
    urllib.request.urlopen("http://localhost:9650/readyz", timeout=5)
except urllib.error.HTTPError as answer:
    print("ready-answers" if answer.code == 503 else answer.code)
"""
BUSY = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


def view_of(agent: Agent) -> dict[str, Any]:
    """Fetch the view over HTTP inside the launcher's pod."""
    done = agent.pod.exec(["curl", "-sSf", "http://localhost:9650/view.json"])
    return valid(json.loads(done.stdout))


def valid(view: dict[str, Any]) -> dict[str, Any]:
    """Return a view that keeps to its schema, and its status to its own."""
    assert_valid(view, "view")
    assert_valid(view["status"])
    return view


def seen_in(agent: Agent, count: int = 1) -> list[dict[str, Any]]:
    """Look at the job from a container's inside."""
    done = agent.pod.exec([sys.executable, "-I", "-c", LOOK, str(count)], timeout_s=60)
    return [valid(json.loads(line)) for line in done.stdout.splitlines()]


def test_while_waiting_each_host_has_state_error_and_time(agents: Agents) -> None:
    """A worker that never comes stands there with its last error and since when."""
    (w1,) = agents.workers(1)
    launcher = agents.launcher("true", hosts="w1,192.0.2.77")
    w1.until_ready()

    def check() -> None:
        view = view_of(launcher)
        here, missing = view["workers"]
        assert (view["status"]["phase"], view["complete"]) == ("Pending", True)
        assert (here["state"], here["lease"]) == ("ready", "held")
        assert here["heartbeat_age_s"] < 5
        assert (missing["ready"], missing["state"]) == (False, "no answer")
        assert missing["detail"]
        assert missing["since_s"] > 0.5
        assert view["plan"] is None
        assert view["deadline_s"] > view["waited_s"] > 1

    eventually(check, 20)


def test_a_running_job_shows_what_each_rank_uses_in_every_container(agents: Agents) -> None:
    """CPU and memory of workers and ranks, hostfile, plan: over HTTP, and from a worker's inside."""
    w1, _ = agents.workers(2)
    launcher = agents.launcher(sys.executable, "-c", BUSY)
    launcher.until_stage("running", 30)

    def check(view: dict[str, Any]) -> None:
        assert (view["status"]["stage"], view["complete"]) == ("running", True)
        assert view["from"] == "launcher"
        assert [one["name"] for one in view["workers"]] == ["w1", "w2"]
        for one in view["workers"]:
            assert [rank["state"] for rank in one["ranks"]] == ["running"]
            (rank,) = one["ranks"]
            assert (rank["cpu_percent"] or 0) > 5
            assert one["cpu_percent"] >= rank["cpu_percent"] * 0.5
            assert 1 << 20 < rank["memory_bytes"] < one["memory_bytes"] < 1 << 34
        assert view["hostfile"].splitlines()[0].startswith("w1")
        assert "mpirun" in view["plan"]["argv"][0]
        assert all(step["reason"] for step in view["plan"]["steps"] if step["kind"] == "exec")

    eventually(lambda: check(view_of(launcher)), 20)
    eventually(lambda: check(seen_in(w1)[0]), 20)
    eventually(lambda: check(seen_in(launcher)[0]), 20)


def test_events_tell_the_end_with_the_rank_that_failed_first(agents: Agents) -> None:
    """Who looks on hears of the outcome before the port closes; stderr's last lines are there."""
    fails = "import os, sys, time; time.sleep(2)\nprint('the reason', file=sys.stderr); os._exit(3)"
    agents.workers(2)
    launcher = agents.launcher(sys.executable, "-c", fails)
    launcher.until_stage("running", 30)
    other = agents.start("other", ["/bin/sleep", "60"])
    url = "http://launcher:9650/events"
    told = other.pod.exec(["curl", "-sN", url], timeout_s=60).stdout
    assert launcher.wait() == 3
    *_, last, end = told.strip().split("\n\n")
    assert end == "event: end\ndata: {}"
    view = valid(json.loads(last.removeprefix("event: view\ndata: ")))
    assert view["status"]["stage"] == "ended"
    assert view["status"]["outcome"]["code"] == 3
    assert view["status"]["outcome"]["failures"][0]["rank"] in (0, 1)
    assert "the reason" in view["stderr"]
    assert {rank["state"] for one in view["workers"] for rank in one["ranks"]} <= {
        "failed",
        "ended",
    }


def test_who_looks_on_in_any_container_sees_the_end(agents: Agents) -> None:
    """The last view has the outcome, in the launcher's container and in a worker's."""
    w1, _ = agents.workers(2)
    launcher = agents.launcher(sys.executable, "-c", "import time, os; time.sleep(3); os._exit(3)")
    launcher.until_stage("running", 30)
    with ThreadPoolExecutor(2) as pool:
        looking = [pool.submit(seen_in, agent, 1000) for agent in (launcher, w1)]
        ends = [one.result(60)[-1] for one in looking]
    assert launcher.wait() == 3
    for end in ends:
        assert end["complete"]
        assert (end["status"]["phase"], end["status"]["outcome"]["code"]) == ("Failed", 3)


def test_a_worker_that_nobody_holds_shows_itself(agents: Agents) -> None:
    """Without a launcher the view says that it is not complete, and what the worker uses."""
    (w1,) = agents.workers(1)
    w1.until_ready()
    (view,) = seen_in(w1)
    assert (view["complete"], view["from"]) == (False, "w1")
    (own,) = view["workers"]
    assert (own["name"], own["phase"], own["ready"]) == ("w1", "Running", True)
    assert own["memory_bytes"] > 1 << 20
    assert view["status"]["ready"] is True


def test_no_page_leaves_the_probes_alone(agents: Agents) -> None:
    """--no-page takes the view away and nothing else."""
    launcher = agents.launcher("true", hosts="192.0.2.77", options=["--no-page"])
    launcher.until_stage("waiting")
    for path, code in (("view.json", "404"), ("events", "404"), ("healthz", "200")):
        argv = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"]
        assert launcher.pod.exec([*argv, f"http://localhost:9650/{path}"]).stdout == code


def test_where_no_agent_runs_one_line_says_so(agents: Agents) -> None:
    """Who looks in the wrong place learns what to do."""
    other = agents.start("other", ["/bin/sleep", "60"])
    done = other.pod.exec([sys.executable, "-I", "-c", LOOK, "1"])
    assert done.returncode == 1
    assert "no mpiboot runs here; ask in one of the job's containers" in done.stderr


def test_lookers_without_end_or_eyes_are_bounded(agents: Agents) -> None:
    """So many may look on and no more; who does not read is cut off; probes answer all the while."""
    launcher = agents.launcher("true", hosts="192.0.2.77")
    launcher.until_stage("waiting")
    done = launcher.pod.exec([sys.executable, "-I", "-c", CROWD], timeout_s=60)
    assert done.stdout.split() == ["32", "8", "ready-answers"], done.stderr


def test_gpus_are_shown_as_nvidia_smi_tells(agents: Agents, tmp_path: Path) -> None:
    """A worker that has some is asked for them; a tool that hangs or fails costs nothing else."""
    tools = tmp_path / "tools"
    tools.mkdir()
    smi = tools / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho '0, NVIDIA L4, 71, 2048, 23034'\n")
    smi.chmod(0o755)
    device = tmp_path / "device"
    device.touch()
    binds = (Bind(source=str(device), target="/dev/nvidia0"),)
    path = f"{tools}:{os.environ['PATH']}"
    agents.worker("w1", binds=binds, env={"PATH": path})
    launcher = agents.launcher("sleep", "60")
    launcher.until_stage("running", 30)

    def check() -> None:
        (worker,) = view_of(launcher)["workers"]
        assert worker["gpus"] == [
            {
                "index": 0,
                "name": "NVIDIA L4",
                "busy_percent": 71,
                "memory_bytes": 2 << 30,
                "memory_total_bytes": 23034 << 20,
            }
        ]

    eventually(check, 20)
    smi.write_text("#!/bin/sh\nexit 9\n")

    def gone() -> None:
        (worker,) = view_of(launcher)["workers"]
        assert (worker["gpus"], worker["lease"]) == ([], "held")

    eventually(gone, 20)
