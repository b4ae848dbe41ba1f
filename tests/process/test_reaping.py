"""One place reaps: no status of a child is lost, no orphan stays a zombie."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpiboot.runtime import processes
from tests.helpers.agents import PROGRAMS, Agent, Agents
from tests.helpers.eventually import eventually
from tests.helpers.plain import Plain

CHILDREN = 200
STORMS = 4
FAILING = (sys.executable, str(PROGRAMS / "failing_children.py"), str(CHILDREN), str(STORMS))
# 20 connections of 10 sessions each; what a session leaves behind ends later, as an orphan.
SESSIONS = """
set -e
to="ssh -F /run/mpiboot/worker/loopback_config -S /run/mux-$0"
$to -M -N -f loopback
for session in 0 1 2 3 4 5 6 7 8 9; do
    $to -n loopback 'sleep 0.5 >/dev/null 2>&1 &'
done
$to -O exit loopback 2>/dev/null
"""
ZOMBIE_S = 2.0


def told(text: str) -> dict[str, Any]:
    assert text.endswith("\n")
    result: dict[str, Any] = json.loads(text)
    return result


def assert_all_right(result: dict[str, Any]) -> None:
    assert result["wrong"] == []
    assert result["orphans_reaped"] >= CHILDREN / 4, "that was no storm"


def zombies_below(root: int) -> list[int]:
    """Return the zombies among the children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state == "Z" and int(parent) == root:
                found.append(int(entry.name))
    return found


def test_failing_children_are_told_right_by_pid_1(agents: Agents) -> None:
    """200 of 200 codes are right under a storm of orphans, and PID 1 has no zombie 2 s later."""
    with subprocess.Popen(["sleep", "infinity"], stdout=subprocess.PIPE) as held:
        try:
            pod = agents.start("failing", FAILING, stdin=held.stdout)
            result = eventually(lambda: told(pod.out.decode()), 30)
            assert result["pid"] == 1
            assert_all_right(result)
            eventually(lambda: _assert_only_pid_1(pod), ZOMBIE_S)
        finally:
            held.kill()
    assert pod.wait() == 0


def _assert_only_pid_1(agent: Agent) -> None:
    assert [(one.pid, one.state != "Z") for one in agent.pod.processes()] == [(1, True)]


def test_failing_children_are_told_right_by_a_subreaper(plain: Plain) -> None:
    """200 of 200 codes are right for a process that is not PID 1, and it has no zombie 2 s later."""
    popen = plain.start(FAILING, stdin=subprocess.PIPE)
    result = eventually(lambda: told(plain.out(popen)), 30)
    assert_all_right(result)

    def alone() -> None:
        assert processes.descendants(popen.pid) == []
        assert zombies_below(popen.pid) == []

    eventually(alone, ZOMBIE_S)
    assert popen.stdin is not None
    popen.stdin.close()
    assert popen.wait(10) == 0
    plain.assert_gone()


def test_life_02_no_zombies_and_the_right_code(agents: Agents, tmp_path: Path) -> None:
    """200 ssh sessions that leave a child behind make no zombie and do not touch the job's 7."""
    go_on = tmp_path / "go-on"
    (worker,) = agents.workers(1)
    job = f"echo up; until test -e {go_on}; do sleep 0.05; done; exit 7"
    launcher = agents.launcher("sh", "-c", job, options=["--no-failure-is-final"])
    eventually(lambda: _assert_said(launcher, b"up"), 20)
    with subprocess.Popen(["seq", "20"], stdout=subprocess.PIPE) as seq:
        storm = worker.pod.popen_in(
            ["xargs", "-P", "4", "-I@", "sh", "-c", SESSIONS, "@"], stdin=seq.stdout
        )
    eventually(lambda: _assert_sleeping(worker), 20)
    assert storm.wait(60) == 0  # the end of the attempt would end these sessions, too
    go_on.touch()
    assert launcher.wait() == 7
    eventually(lambda: _assert_no_zombie(worker), ZOMBIE_S)
    worker.pod.send(15)
    assert worker.wait() == 143
    agents.assert_global()


def _assert_said(agent: Agent, text: bytes) -> None:
    assert text in agent.out


def _assert_sleeping(agent: Agent) -> None:
    assert [one for one in agent.pod.processes() if one.comm == "sleep"]


def _assert_no_zombie(agent: Agent) -> None:
    left = [one for one in agent.pod.processes() if one.state == "Z" or one.comm == "sleep"]
    assert left == []


pytestmark = pytest.mark.timeout(100)
