"""Lost workers are named with their kind; lost and overtaken launchers leave nothing behind."""

from __future__ import annotations

import re
import signal
import time

import pytest

from tests.helpers.agents import PROGRAMS, PYTHON, Agent, Agents
from tests.helpers.eventually import eventually

QUICK = ("--heartbeat", "0.5", "--lease-timeout", "3")
RING = (PYTHON, "-u", str(PROGRAMS / "endless_ring.py"))
# What a data loader does: a child that leaves the session and would outlive everything.
DETACHED = ("sh", "-c", "setsid sleep 301 & echo up; exec sleep 300")


def assert_up(launcher: Agent, ranks: int) -> None:
    assert launcher.out.count(b"up") == ranks, launcher.log


def running(agents: Agents, *job: str, options: tuple[str, ...] = (), **spec: str) -> Agent:
    """Start a job and return its launcher when each of its two ranks runs."""
    launcher = agents.launcher(*job, options=(*QUICK, *options), hosts="w1:1,w2:1", **spec)
    eventually(lambda: assert_up(launcher, 2), 30)
    return launcher


def freeze(agent: Agent) -> None:
    """Stop everything in a pod, as `docker pause` does; its kernel goes on."""
    agent.pod.exec(["kill", "-STOP", "-1"])
    agent.pod.send(signal.SIGSTOP)


def assert_lost(launcher: Agent, host: str, words: str) -> None:
    """241 within 45 s, the host and the kind of its loss in the last line and in the status."""
    assert launcher.wait(45) == 241
    last = launcher.log.splitlines()[-1]
    assert f"exit 241: {host} was lost: " in last
    assert words in last
    outcome = launcher.status["outcome"]
    assert outcome["fault"] == "infrastructure"
    assert outcome["failures"][0]["host"] == host


def test_fail_02_a_frozen_worker(agents: Agents) -> None:
    """Its kernel still answers, it does not: frozen, and the job ends although mpirun would hang."""
    workers = agents.workers(2, *QUICK, "--retry-grace", "1")
    launcher = running(agents, *RING)
    freeze(workers[1])
    assert_lost(launcher, "w2", "frozen")
    workers[0].wait(30)
    workers[1].pod.kill()
    agents.assert_global()


def test_fail_02_a_worker_that_is_cut_off(agents: Agents) -> None:
    """Nothing comes through: unreachable; the worker ends its ranks by itself and leaves with 245."""
    workers = agents.workers(2, *QUICK, "--retry-grace", "1")
    launcher = running(agents, *RING)
    workers[1].pod.cut()
    assert_lost(launcher, "w2", "unreachable")
    assert workers[1].wait(30) == 245
    agents.assert_global()


def test_fail_01_a_worker_that_is_killed(agents: Agents) -> None:
    """The container is gone, and that is what is said."""
    workers = agents.workers(2, *QUICK, "--retry-grace", "1")
    launcher = running(agents, *RING)
    workers[0].pod.kill()
    assert_lost(launcher, "w1", "its container is gone")
    agents.assert_global()


def test_a_worker_whose_sshd_processes_are_all_killed(agents: Agents) -> None:
    """The container lives: it was sshd, and the worker starts it again and leaves in order."""
    workers = agents.workers(2, *QUICK, "--retry-grace", "1")
    launcher = running(agents, *RING)
    workers[1].pod.exec(["pkill", "-KILL", "sshd"])
    assert launcher.wait(45) == 241
    last = launcher.log.splitlines()[-1]
    assert "exit 241: w2 was lost: its " in last
    assert "sshd" in last or "SSH session" in last
    assert workers[1].wait(30) == 245
    agents.assert_global()


def test_life_09_a_lost_launcher_leaves_nothing(agents: Agents) -> None:
    """Ranks and what has left their session are gone from all workers, long before the grace is over."""
    workers = agents.workers(2, *QUICK, "--retry-grace", "60")
    launcher = running(agents, *DETACHED)
    launcher.pod.kill()
    launcher.wait()

    def gone() -> None:
        for worker in workers:
            assert "sleep" not in [one.comm for one in worker.pod.processes()], worker.log

    eventually(gone, 30)
    assert [worker.pod.poll() for worker in workers] == [None, None]
    second = agents.launcher("hostname", hosts="w1:1,w2:1", name="second")
    assert second.wait() == 0
    agents.assert_global()


def test_a_cut_off_launcher_gives_its_workers_up(agents: Agents) -> None:
    """They end its ranks on their own, and it ends with 241 on its side."""
    workers = agents.workers(2, *QUICK, "--retry-grace", "1")
    launcher = running(agents, *RING)
    launcher.pod.cut()
    assert [worker.wait(40) for worker in workers] == [245, 245]
    assert launcher.wait(45) == 241
    agents.assert_global()


def test_a_newer_launcher_takes_over(agents: Agents) -> None:
    """What the older one left is ended before the newer one runs; the older one is told by whom."""
    agents.workers(2, *QUICK, "--retry-grace", "30")
    first = running(agents, *DETACHED, name="first")
    second = agents.launcher(
        "sh", "-c", "pgrep -c sleep; hostname", hosts="w1:1,w2:1", options=QUICK, name="second"
    )
    assert second.wait(60) == 0, second.log
    assert sorted(second.out.split()) == [b"0", b"0", b"w1", b"w2"]
    assert first.wait(45) == 241
    assert "launcher second of generation 2 has taken this worker" in first.log
    agents.assert_global()


def test_an_older_launcher_is_refused(agents: Agents) -> None:
    """It came first, waited longer, and finds a newer one at work: it does not disturb that one."""
    agents.workers(2, *QUICK, "--retry-grace", "30")
    first = agents.launcher(
        "true", hosts="w1:1,w2:1,w3:1", name="first", options=(*QUICK, "--launch-retries", "0")
    )
    agents.all[1].until_logged("launcher first is here")
    agents.all[0].until_logged("launcher first is here")
    second = running(agents, *RING, name="second")
    agents.worker("w3", *QUICK)
    assert first.wait(45) == 242
    taken = "launcher second of generation 2 has taken this worker"
    assert f"w1 went away again: {taken}" in first.log
    assert re.search(
        rf"exit 242: w[12] went away while the job was being launched: {taken}", first.log
    )
    assert second.pod.poll() is None
    second.pod.send(signal.SIGTERM)
    assert second.wait(45) == 143
    agents.assert_global()


def test_what_a_failed_attempt_left_is_gone_before_the_next(agents: Agents) -> None:
    """A worker that stays for a retry is cleaned at once: nothing of the old attempt runs on."""
    workers = agents.workers(1, "--retry-grace", "60")
    first = agents.launcher(
        "sh", "-c", "setsid sleep 301 >/dev/null 2>&1 & exit 3", hosts="w1:1",
        options=["--no-failure-is-final"],
    )  # fmt: skip
    assert first.wait(30) == 3

    def gone() -> None:
        assert "sleep" not in [one.comm for one in workers[0].pod.processes()]

    eventually(gone, 15)
    assert agents.launcher("true", hosts="w1:1", name="next").wait(30) == 0
    agents.assert_global()


@pytest.mark.parametrize("program", [RING, ("sh", "-c", "trap '' TERM; echo up; sleep 300")])
def test_a_lost_worker_ends_the_job_within_45_s_at_the_defaults(
    agents: Agents, program: tuple[str, ...]
) -> None:
    """Frozen, so that nothing but the lease tells; also where ranks and mpirun ignore TERM."""
    workers = agents.workers(2, "--retry-grace", "1")
    launcher = agents.launcher(*program, hosts="w1:1,w2:1")
    eventually(lambda: assert_up(launcher, 2), 30)
    freeze(workers[1])
    begun = time.monotonic()
    assert launcher.wait(60) == 241
    assert time.monotonic() - begun < 45
    workers[1].pod.kill()
    agents.assert_global()
