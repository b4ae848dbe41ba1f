"""A quorum starts, workers come and go, and a script tells who is live."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.helpers.agents import MPIBOOT, PROGRAMS, Agent, Agents
from tests.helpers.eventually import eventually

LONG_S = 60.0
DRIVER = str(PROGRAMS / "elastic_driver.py")


def named(script: Path) -> list[str]:
    """Run the discovery script; return its lines."""
    assert script.exists()
    done = subprocess.run([str(script)], capture_output=True, text=True, check=True, env={})
    return done.stdout.splitlines()


def assert_named(script: Path, *lines: str) -> None:
    assert named(script) == list(lines)


def assert_older(begun: float, seconds: float) -> None:
    """So much time has passed."""
    assert time.monotonic() - begun > seconds


def assert_said(launcher: Agent, *lines: str) -> None:
    """The elastic command has said that, in any order."""
    assert sorted(launcher.out.decode().splitlines()) == sorted(lines), launcher.log


# A quorum.


def test_a_quorum_starts_without_the_others(agents: Agents) -> None:
    """At the deadline two of three are enough; the log names the third, and the ranks are two."""
    for worker in agents.workers(2):
        worker.until_ready(LONG_S)
    options = ["--min-workers", "2", "--wait-timeout", "8"]
    launcher = agents.launcher("hostname", hosts="w1:1,absent.invalid:1,w2:1", options=options)
    assert launcher.wait(LONG_S) == 0
    assert sorted(launcher.out.split()) == [b"w1", b"w2"]
    assert "starting with 2 of 3 workers (--min-workers); missing: absent.invalid" in launcher.log
    agents.assert_global()
    assert agents.codes() == {"w1": 0, "w2": 0, "launcher": 0}


def test_fewer_than_the_quorum_do_not_start(agents: Agents) -> None:
    """240 at the deadline, with what is needed; the one that was ready is released."""
    agents.workers(1)[0].until_ready(LONG_S)
    options = ["--min-workers", "2", "--wait-timeout", "4"]
    launcher = agents.launcher("hostname", hosts="w1:1,a.invalid:1,b.invalid:1", options=options)
    assert launcher.wait(LONG_S) == 240
    assert "1 of 3 workers ready after 4 s; 2 are needed (--min-workers)" in launcher.log
    agents.assert_global()
    assert agents.codes()["w1"] == 246


def test_ranks_beyond_the_slots_of_a_quorum(agents: Agents) -> None:
    """A number of ranks that only all workers could hold is refused with 78, as always."""
    agents.workers(1)[0].until_ready(LONG_S)
    options = ["--min-workers", "1", "--wait-timeout", "4", "-np", "2"]
    launcher = agents.launcher("hostname", hosts="w1:1,absent.invalid:1", options=options)
    assert launcher.wait(LONG_S) == 78
    assert "2 ranks are wanted, but the workers have 1 slot" in launcher.log
    agents.assert_global()


def test_a_quorum_that_cannot_be(agents: Agents) -> None:
    """More than all workers is a mistake that is told at once, with 78."""
    launcher = agents.launcher("true", hosts="a:1,b:1", options=["--min-workers", "3"])
    assert launcher.wait(LONG_S) == 78
    assert "--min-workers is 3, but 2 workers are named; lower it" in launcher.log


def test_one_that_comes_too_late_leaves_with_the_job(agents: Agents, tmp_path: Path) -> None:
    """A worker that comes while the job runs without it takes no part, and hears of the end."""
    end = tmp_path / "end"
    script = tmp_path / "hosts.sh"
    agents.workers(1)[0].until_ready(LONG_S)
    job = f"echo up; until test -e {end}; do sleep 0.05; done; hostname"
    options = ["--min-workers", "1", "--wait-timeout", "4", "--discovery-script", str(script)]
    launcher = agents.launcher("sh", "-c", job, hosts="w1:1,w2:1", options=options)
    eventually(lambda: assert_said(launcher, "up"), LONG_S)
    late = agents.worker("w2")
    late.until_logged("launcher launcher is here", LONG_S)
    assert_named(script, "w1:1")
    end.touch()
    assert launcher.wait(LONG_S) == 0
    assert launcher.out == b"up\nw1\n"
    agents.assert_global()
    assert agents.codes() == {"w1": 0, "w2": 0, "launcher": 0}


# The script.


def test_the_script_follows_the_wait(agents: Agents, tmp_path: Path) -> None:
    """It is there from the start, names who is ready in the job's order, and drops who goes."""
    script = tmp_path / "hosts.sh"
    options = ["--discovery-script", str(script), "--slots", "3"]
    launcher = agents.launcher("true", hosts="w1:2,w2,absent.invalid", options=options)
    eventually(lambda: assert_named(script), LONG_S)
    second = agents.worker("w2")
    eventually(lambda: assert_named(script, "w2:3"), LONG_S)
    agents.worker("w1")
    eventually(lambda: assert_named(script, "w1:2", "w2:3"), LONG_S)
    assert script.stat().st_mode & 0o777 == 0o755
    second.pod.kill()
    eventually(lambda: assert_named(script, "w1:2"), LONG_S)
    launcher.pod.send(15)
    assert launcher.wait(LONG_S) == 143


def test_a_script_that_cannot_be_written(agents: Agents) -> None:
    """78, with the path and the setting."""
    options = ["--discovery-script", "/proc/hosts.sh"]
    launcher = agents.launcher("true", hosts="w1:1", options=options)
    assert launcher.wait(LONG_S) == 78
    assert "cannot write the discovery script /proc/hosts.sh" in launcher.log


# Elastic jobs.


def put(directory: Path) -> Path:
    """Make a directory with a horovodrun."""
    tools = directory / "tools"
    tools.mkdir()
    (tools / "horovodrun").symlink_to(DRIVER)
    return tools


def elastic(agents: Agents, directory: Path, hosts: str, *options: str) -> tuple[Agent, Path]:
    """Start an elastic job; return its launcher, and the file that ends it."""
    end = directory / "end"
    path = f"{put(directory)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    launcher = agents.launcher(
        "horovodrun", "--min-np", "1", "-np", "2", str(end),
        hosts=hosts, options=["--elastic", "--settle", "1", *options], env={"PATH": path},
    )  # fmt: skip
    return launcher, end


def test_workers_come_and_go(agents: Agents, tmp_path: Path) -> None:
    """A quorum starts; one comes later, one is lost, it comes back: all in the script, by login."""
    _, w2 = agents.workers(2)
    launcher, end = elastic(agents, tmp_path, "w1:1,w2:1,w3:2", "--min-workers", "2")
    said = ["+ w1:1 w1", "+ w2:1 w2"]
    eventually(lambda: assert_said(launcher, *said), LONG_S)
    agents.worker("w3")
    said.append("+ w3:2 w3")
    eventually(lambda: assert_said(launcher, *said), LONG_S)
    w2.pod.kill()
    said.append("- w2")
    eventually(lambda: assert_said(launcher, *said), LONG_S)
    again = agents.worker("w2")
    said.append("+ w2:1 w2")
    eventually(lambda: assert_said(launcher, *said), LONG_S)
    again.until_stage("running", LONG_S)
    end.touch()
    assert launcher.wait(LONG_S) == 0
    agents.assert_global()
    assert agents.codes() == {"w1": 0, "w2": 0, "w3": 0, "launcher": 0}
    assert w2.pod.poll() == 137
    for line in ("w3 has come, with 2 slots", "w2 was lost", "w2 is back, with 1 slot"):
        assert line in launcher.log
    assert "mux" not in launcher.log  # the lost lease's socket is gone, so ssh has nothing to tell
    evidence = launcher.status["outcome"]["evidence"]
    assert any(one.startswith("w2 was lost, and the elastic job went on") for one in evidence)


def test_without_elastic_a_lost_worker_ends_it(agents: Agents, tmp_path: Path) -> None:
    """The same command without the flag finds the script, too, and a loss ends it with 241."""
    _, w2 = agents.workers(2)
    words = '--host-discovery-script "$MPIBOOT_DISCOVERY" --min-np 1'
    job = f"{put(tmp_path)}/horovodrun {words} {tmp_path}/end"
    launcher = agents.launcher("sh", "-c", job, hosts="w1:1,w2:1")
    eventually(lambda: assert_said(launcher, "+ w1:1 w1", "+ w2:1 w2"), LONG_S)
    w2.pod.kill()
    assert launcher.wait(LONG_S) == 241
    assert "w2 was lost" in launcher.log
    agents.assert_global()


@pytest.mark.parametrize("command", [("true",), ("mpirun", "true")])
def test_elastic_needs_a_command_that_bears_it(agents: Agents, command: tuple[str, ...]) -> None:
    """A bare mpirun cannot go on without a worker: 78 says so before anybody waits."""
    launcher = agents.launcher(*command, hosts="absent.invalid:1", options=["--elastic"])
    assert launcher.wait(LONG_S) == 78
    assert "--elastic is for horovodrun, or a script that starts its ranks itself" in launcher.log


# More workers than leases.


def test_workers_beyond_the_lease_limit(agents: Agents, tmp_path: Path) -> None:
    """They take part without a lease, outlast more than their grace, and hear of the end.

    The outcome says that they do not testify.
    """
    early = agents.workers(2, "--retry-grace", "1")
    end = tmp_path / "end"
    job = f"echo up; until test -e {end}; do sleep 0.05; done; hostname"
    launcher = agents.launcher(
        "sh", "-c", job, hosts="w1:1,w2:1,w3:1", options=["--lease-limit", "1"]
    )
    launcher.until_logged("workers beyond 1 hold no lease (--lease-limit)", LONG_S)
    begun = time.monotonic()
    eventually(lambda: assert_older(begun, 3), LONG_S)
    assert [worker.pod.poll() for worker in early] == [None, None]
    agents.worker("w3", "--retry-grace", "1")
    eventually(lambda: assert_said(launcher, "up", "up", "up"), LONG_S)
    begun = time.monotonic()
    eventually(lambda: assert_older(begun, 3), LONG_S)
    end.touch()
    assert launcher.wait(LONG_S) == 0
    assert sorted(launcher.out.split()) == [b"up", b"up", b"up", b"w1", b"w2", b"w3"]
    agents.assert_global()
    assert agents.codes() == {"w1": 0, "w2": 0, "w3": 0, "launcher": 0}
    evidence = launcher.status["outcome"]["evidence"]
    assert "1 of 3 workers testify by lease" in evidence
    assert "2 without a lease: no evidence of their own" in evidence
    assert sum("has too many leases" in agent.log for agent in agents.all) == 2


def test_a_failed_attempt_reaches_those_without_a_lease(agents: Agents) -> None:
    """They hear that another attempt comes, and serve it."""
    workers = agents.workers(2)
    options = ["--lease-limit", "1", "--no-failure-is-final"]
    first = agents.launcher("sh", "-c", "exit 3", options=options)
    assert first.wait(LONG_S) == 3
    agents.assert_global(stay=workers)
    second = agents.launcher("hostname", hosts="w1:1,w2:1", options=["--lease-limit", "1"])
    assert second.wait(LONG_S) == 0
    assert sorted(second.out.split()) == [b"w1", b"w2"]
    agents.assert_global()
    assert [worker.wait() for worker in workers] == [0, 0]


def test_without_a_lease_a_killed_launcher_is_missed_at_last(agents: Agents) -> None:
    """Its sessions end with it; after the grace the worker leaves with 245."""
    agents.workers(2, "--retry-grace", "1")
    options = ["--lease-limit", "1", "--heartbeat", "0.5", "--lease-timeout", "3"]
    launcher = agents.launcher("sh", "-c", "echo up; exec sleep 1000", options=options)
    eventually(lambda: assert_said(launcher, "up", "up"), LONG_S)
    launcher.pod.kill()
    assert launcher.wait() == 137
    for worker in agents.all[:2]:
        assert worker.wait(LONG_S) == 245
    agents.assert_global()


def test_leases_are_bounded_by_open_files(agents: Agents) -> None:
    """Where few open files are granted the soft limit is raised, and workers beyond take part, too."""
    agents.workers(3)
    tight = ("prlimit", "--nofile=300:520", *MPIBOOT)
    launcher = agents.launcher("hostname", agent=tight)
    assert launcher.wait(LONG_S) == 0
    assert sorted(launcher.out.split()) == [b"w1", b"w2", b"w3"]
    agents.assert_global()
    assert "workers beyond 2 hold no lease" in launcher.log
    assert "2 of 3 workers testify by lease" in launcher.status["outcome"]["evidence"]
