"""When agents leave, with which code, and that nothing of the job stays anywhere."""

from __future__ import annotations

import re
import shutil
import signal
import time
from datetime import datetime
from pathlib import Path

import pytest

from tests.helpers.agents import MPIBOOT, PROGRAMS, PYTHON, Agent, Agents
from tests.helpers.eventually import eventually

# Open MPI waits two seconds over each rank that failed; most tests are not about that.
QUICK = ("--mca", "odls_base_sigkill_timeout", "0")
STOP_S = 9.0  # of the 10 s that a container engine grants
RING = (PYTHON, "-u", str(PROGRAMS / "endless_ring.py"))
WAITING = ("sh", "-c", "echo up; exec sleep 1000")


def assert_up(launcher: Agent, ranks: int) -> None:
    """Each rank of a job that says `up` has said it."""
    assert launcher.out.count(b"up") == ranks, launcher.log


def assert_reported(launcher: Agent, ranks: int) -> None:
    """The launcher has heard that each rank has started."""
    assert launcher.status["ranks"] is not None
    assert launcher.status["ranks"]["started"] == ranks


def began(agent: Agent, stage: str) -> float:
    """Return when a stage began, in seconds since the epoch."""
    since = [step["since"] for step in agent.status["stages"] if step["stage"] == stage]
    return datetime.fromisoformat(since[-1].replace("Z", "+00:00")).timestamp()


def running_job(agents: Agents, *job: str, workers: int = 2, **options: object) -> Agent:
    """Start workers and a job, and return the launcher when each rank runs."""
    agents.workers(workers)
    launcher = agents.launcher(*job, **options)  # type: ignore[arg-type]
    eventually(lambda: assert_up(launcher, workers), 20)
    return launcher


def sshd_of(worker: Agent) -> int:
    """Return the PID, as the pod has it, of the sshd that listens."""
    names = {one.pid: one.comm for one in worker.pod.processes()}
    pids = [pid for pid, name in names.items() if name == "sshd"]
    assert pids, names
    return min(pids)


def kill_sshd(worker: Agent) -> int:
    pid = eventually(lambda: sshd_of(worker))
    done = worker.pod.exec(["kill", "-KILL", str(pid)])
    # A worker that gives up at once sweeps its container, this very `kill` in it.
    assert done.returncode in (0, -signal.SIGTERM, -signal.SIGKILL)
    return pid


# Stop: whoever gets a TERM.


def test_life_01_launcher_stopped_while_waiting(agents: Agents) -> None:
    """TERM during the wait: launcher 143 at once; the worker that was ready is released, unused."""
    (worker,) = agents.workers(1)
    launcher = agents.launcher("true", hosts="w1:1,absent.invalid:1")
    worker.until_logged("launcher launcher is here")
    begun = time.monotonic()
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(STOP_S) == 143
    assert time.monotonic() - begun < 3
    assert "stopped by SIGTERM while waiting" in launcher.log
    agents.assert_global()
    assert agents.codes() == {"w1": 246, "launcher": 143}


def test_life_01_launcher_stopped_during_the_job(agents: Agents) -> None:
    """TERM during a real MPI job: launcher 143, no rank left anywhere, nobody needs KILL."""
    launcher = running_job(agents, *RING)
    begun = time.monotonic()
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(STOP_S) == 143
    agents.assert_global()
    assert time.monotonic() - begun < STOP_S
    assert agents.codes() == {"w1": 0, "w2": 0, "launcher": 143}
    assert not [agent.name for agent in agents.all if "were killed" in agent.log]


def test_life_01_worker_stopped_while_idle(agents: Agents) -> None:
    """TERM to a worker that nobody uses: 143 at once, readiness gone."""
    (worker,) = agents.workers(1)
    worker.until_ready()
    begun = time.monotonic()
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(STOP_S) == 143
    assert time.monotonic() - begun < 2
    assert worker.status["ready"] is False
    agents.assert_global()


def test_life_01_worker_stopped_during_the_job(agents: Agents) -> None:
    """TERM to a worker during the job: it says 143, the job fails and names it, no rank is left."""
    launcher = running_job(agents, *WAITING)
    worker = agents.all[1]
    begun = time.monotonic()
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(STOP_S) == 143
    assert time.monotonic() - begun < STOP_S
    assert launcher.wait(45) == 241
    assert "w2 was told to stop (SIGTERM)" in launcher.log
    agents.assert_global()
    assert agents.codes()["w1"] == 0


# End: how workers leave with the job. TERM within the first 300 ms: test_pid1.


def test_life_05_workers_leave_with_success(agents: Agents) -> None:
    """After a job that succeeded, all workers end by themselves with 0, within 15 s."""
    agents.workers(2)
    launcher = agents.launcher("true")
    assert launcher.wait() == 0
    begun = time.monotonic()
    agents.assert_global()
    assert time.monotonic() - begun < 15
    assert agents.codes() == {"w1": 0, "w2": 0, "launcher": 0}


def test_life_05_workers_leave_with_failure(agents: Agents) -> None:
    """After a final failure of ranks that ran, workers end by themselves with 0, within 15 s."""
    agents.workers(2)
    launcher = agents.launcher("sh", "-c", "exit 7")
    assert launcher.wait() == 7
    begun = time.monotonic()
    agents.assert_global()
    assert time.monotonic() - begun < 15
    assert agents.codes() == {"w1": 0, "w2": 0, "launcher": 7}


def test_res_08_mpirun_opens_few_files_and_ranks_many(agents: Agents, tmp_path: Path) -> None:
    """A limit that mpirun walks through for each worker is its own alone, and no rank's."""
    real, seen = shutil.which("mpirun"), tmp_path / "limit"
    wrapper = tmp_path / "mpirun"
    look = f"sleep 0.5; ulimit -Sn >{seen}; ulimit -Hn >>{seen}"
    wrapper.write_text(f'#!/bin/sh\n[ "$1" = --version ] || {{ {look}; }}\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    here = ("prlimit", "--nofile=5000:6000", *MPIBOOT)
    agents.workers(2, agent=here)
    launcher = agents.launcher(
        "sh", "-c", "ulimit -Sn; ulimit -Hn", agent=here, options=("--mpirun", str(wrapper))
    )
    assert launcher.wait() == 0, launcher.log
    agents.assert_global()
    assert seen.read_text().split() == ["1024", "6000"]
    assert sorted(launcher.out.split()) == [b"5000"] * 2 + [b"6000"] * 2  # two ranks, in any order


@pytest.mark.parametrize("code", [0, 7])
def test_life_05_workers_are_gone_two_seconds_after_mpirun(agents: Agents, code: int) -> None:
    """Three jobs with that code; in the median one the last worker has ended within 2 s of mpirun.

    The time runs from the launcher's last stage, which begins with the verdict, on one clock.
    """
    took = []
    for number in (1, 2, 3):
        for worker in ("a", "b"):
            agents.worker(f"{worker}{number}")
        launcher = agents.launcher(
            "sh", "-c", f"exit {code}", hosts=f"a{number}:1,b{number}:1", name=f"launcher{number}",
            options=QUICK,
        )  # fmt: skip
        assert launcher.wait(60) == code
        workers = [agent for agent in agents.all if agent.name in (f"a{number}", f"b{number}")]
        assert [worker.wait(30) for worker in workers] == [0, 0]
        ended = max(began(worker, "ended") for worker in workers)
        took.append(ended - began(launcher, "ending"))
    assert sorted(took)[1] <= 2.0, took
    agents.assert_global()


@pytest.mark.parametrize("code", [0, 7])
def test_life_10_term_after_the_verdict_changes_nothing(
    agents: Agents, tmp_path: Path, code: int
) -> None:
    """A TERM that comes while the launcher says goodbye finds the code settled, and it stays so."""
    go_on = tmp_path / "go-on"
    job = f"echo up; until test -e {go_on}; do sleep 0.02; done; exit {code}"
    (worker,) = agents.workers(1, "--heartbeat", "0.3")
    launcher = agents.launcher("sh", "-c", job, options=(*QUICK, "--heartbeat", "0.3"))
    eventually(lambda: assert_up(launcher, 1), 20)
    # Stopped, the worker cannot answer the goodbye, so the launcher waits for it; and the worker
    # hears the last words only when the launcher has gone.
    eventually(lambda: assert_reported(launcher, 1), 20)
    worker.pod.send(signal.SIGSTOP)
    go_on.touch()
    launcher.until_stage("ending")
    launcher.pod.send(signal.SIGTERM)
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(10) == code
    assert launcher.status["outcome"]["code"] == code
    worker.pod.send(signal.SIGCONT)
    agents.assert_global()
    assert agents.codes()["w1"] == 0


def test_boot_03_workers_are_released_when_one_never_comes(agents: Agents) -> None:
    """At the deadline: 240 in time, a table with the host, its error and who was ready; w1: 246."""
    agents.workers(1)
    agents.start("w2", ["sleep", "infinity"])
    begun = time.monotonic()
    launcher = agents.launcher("true", options=["--wait-timeout", "2"])
    assert launcher.wait() == 240
    assert 2 <= time.monotonic() - begun < 4
    block = launcher.log[launcher.log.rindex("exit 240") :]
    assert re.search(r" w1 +\d+\.\d s +ready", block)
    assert re.search(r" w2 +2\.\d s +connection refused", block)
    agents.all[1].pod.kill()
    agents.assert_global()
    assert agents.codes()["w1"] == 246


# Stay: a worker outlives what may come back.


def test_worker_leaves_when_nobody_comes(agents: Agents) -> None:
    """Without any launcher before its deadline a worker leaves with 246 and says so."""
    (worker,) = agents.workers(1, "--first-contact", "1")
    assert worker.wait(10) == 246
    assert "exit 246: " in worker.log
    assert worker.status["outcome"]["fault"] == "infrastructure"
    agents.assert_global()


def test_worker_leaves_when_the_launcher_was_killed(agents: Agents) -> None:
    """A launcher that dies without a word: its ranks end, and after the grace the worker, 245."""
    agents.workers(2, "--retry-grace", "0.5")
    launcher = agents.launcher(*WAITING, options=QUICK)
    eventually(lambda: assert_up(launcher, 2), 20)
    launcher.pod.kill()
    begun = time.monotonic()
    assert launcher.wait() == 137
    agents.assert_global()
    assert time.monotonic() - begun < 10
    assert agents.codes() == {"w1": 245, "w2": 245, "launcher": 137}
    assert "the launcher was lost" in agents.all[0].log


def test_worker_serves_a_second_launcher(agents: Agents) -> None:
    """A launcher that comes back within the grace finds its workers, and its job succeeds."""
    workers = agents.workers(2, "--retry-grace", "30")
    first = agents.launcher(*WAITING, options=QUICK)
    eventually(lambda: assert_up(first, 2), 20)
    first.pod.kill()
    assert first.wait() == 137
    second = agents.launcher("hostname", hosts="w1:1,w2:1")
    assert second.wait() == 0
    assert sorted(second.out.split()) == [b"w1", b"w2"]
    agents.assert_global()
    assert [worker.wait() for worker in workers] == [0, 0]


def test_failed_attempt_keeps_the_workers(agents: Agents) -> None:
    """With --no-failure-is-final a failed attempt leaves the workers ready for the next one."""
    workers = agents.workers(1)
    first = agents.launcher("sh", "-c", "exit 3", options=["--no-failure-is-final", *QUICK])
    assert first.wait() == 3
    agents.assert_global(stay=workers)
    workers[0].until_stage("ready", 2)
    assert workers[0].pod.exec(["curl", "-sS", "localhost:9650/readyz"]).stdout == "ready\n"
    second = agents.launcher("true", hosts="w1:1", options=["--no-failure-is-final"])
    assert second.wait() == 0
    agents.assert_global()
    assert workers[0].wait() == 0


# Loss: of a worker, of its sshd.


def test_worker_killed_during_the_job(agents: Agents) -> None:
    """A worker that dies during the job: 241 within 45 s, the worker named, the others released."""
    launcher = running_job(agents, *RING)
    agents.all[0].pod.kill()
    begun = time.monotonic()
    assert launcher.wait(45) == 241
    assert time.monotonic() - begun < 45
    assert "w1 was lost" in launcher.log
    failure = launcher.status["outcome"]["failures"][0]
    assert failure["host"] == "w1"
    agents.assert_global()
    assert agents.codes() == {"w1": 137, "w2": 0, "launcher": 241}


def test_sshd_is_started_again(agents: Agents) -> None:
    """An sshd that dies is started again and proven anew; the next job finds a worker that works."""
    (worker,) = agents.workers(1)
    worker.until_ready()
    former = kill_sshd(worker)
    worker.until_logged("sshd ended with 137: start 1 of 3")
    assert worker.status["not_ready_reason"] == "sshd ended with 137 and is started again"
    assert eventually(lambda: sshd_of(worker)) != former

    def ready_again() -> None:
        assert worker.log.count("ready on port") == 2
        assert worker.status["ready"] is True

    eventually(ready_again)
    launcher = agents.launcher("hostname")
    assert launcher.wait() == 0
    assert launcher.out == b"w1\n"
    agents.assert_global()


def test_sshd_that_dies_again_and_again(agents: Agents) -> None:
    """Beyond the budget of restarts the worker fails with 242 and one clear line."""
    (worker,) = agents.workers(1, "--sshd-restarts", "1")
    worker.until_ready()
    kill_sshd(worker)
    worker.until_logged("start 1 of 1")
    kill_sshd(worker)
    assert worker.wait(5) == 242
    assert "exit 242: sshd ended with 137, 1 restart is used up" in worker.log
    agents.assert_global()
