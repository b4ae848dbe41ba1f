"""Deadlines, retries of the start-up, restarts of the job, warnings before the end."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.helpers.agents import PYTHON, Agent, Agents, program, slow_ssh
from tests.helpers.eventually import eventually
from tests.helpers.mpis import MPIS, Mpi


def assert_up(launcher: Agent, ranks: int) -> None:
    assert launcher.out.count(b"up") == ranks, launcher.log


def test_the_deadline_passes_while_the_job_runs(agents: Agents) -> None:
    """244, class deadline, within the stop grace; nothing is left."""
    agents.workers(2)
    launcher = agents.launcher("sh", "-c", "echo up; exec sleep 300", options=["--deadline", "5"])
    begun = time.monotonic()
    assert launcher.wait(60) == 244
    assert time.monotonic() - begun < 5 + 25
    assert launcher.status["outcome"]["fault"] == "deadline"
    assert "the deadline passed while the job ran" in launcher.log.splitlines()[-1]
    agents.assert_global()


def test_the_deadline_passes_while_workers_are_awaited(agents: Agents) -> None:
    """244 and not 240: the deadline is of the whole job."""
    agents.workers(1)
    launcher = agents.launcher("true", hosts="w1:1,absent.invalid:1", options=["--deadline", "2"])
    assert launcher.wait(30) == 244
    assert "the deadline passed while waiting for workers" in launcher.log.splitlines()[-1]
    agents.assert_global()


def test_a_start_up_that_fails_is_tried_again(agents: Agents, tmp_path: Path) -> None:
    """Mpirun's daemon cannot be started once; the second try runs the job, and it ran once."""
    marker = tmp_path / "broken-once"
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "orted"
    fake.write_text(
        f'#!/bin/sh\n[ -e {marker} ] || {{ : >{marker}; exit 1; }}\nexec /usr/bin/orted "$@"\n'
    )
    fake.chmod(0o755)
    agents.workers(
        1, "--retry-grace", "30", env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    )
    launcher = agents.launcher("echo", "ran", hosts="w1:1")
    assert launcher.wait(60) == 0, launcher.log
    assert launcher.out == b"ran\n"
    assert "start-up failed, retry 1 of 2" in launcher.log
    agents.assert_global()


def test_retries_of_the_start_up_are_bounded(agents: Agents, tmp_path: Path) -> None:
    """After the last one 242, and the number of tries is that of the setting and one."""
    (tmp_path / "bin").mkdir()
    count = tmp_path / "count"
    fake = tmp_path / "bin" / "orted"
    fake.write_text(f"#!/bin/sh\necho x >>{count}\nexit 1\n")
    fake.chmod(0o755)
    agents.workers(
        1, "--retry-grace", "30", env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    )
    launcher = agents.launcher("true", hosts="w1:1", options=["--launch-retries", "1"])
    assert launcher.wait(60) == 242, launcher.log
    assert count.read_text().split() == ["x", "x"]
    agents.assert_global()


def test_a_job_is_restarted_when_asked(agents: Agents, tmp_path: Path) -> None:
    """It fails twice and succeeds then: 0, and each attempt found clean workers."""
    agents.workers(2, "--retry-grace", "30")
    script = "pgrep -c sleep; setsid sleep 301 >/dev/null 2>&1 & [ $MPIBOOT_ATTEMPT = 3 ] || exit 5"
    launcher = agents.launcher("sh", "-c", script, options=["--max-restarts", "2"])
    assert launcher.wait(90) == 0, launcher.log
    assert "restart 2 of 2" in launcher.log
    assert set(launcher.out.split()) == {b"0"}
    agents.assert_global()


def test_a_job_that_ran_is_never_started_again_unasked(agents: Agents, tmp_path: Path) -> None:
    """It may have done what must not be done twice."""
    agents.workers(2)
    launcher = agents.launcher("sh", "-c", f"echo x >>{tmp_path}/runs; exit 5")
    assert launcher.wait(60) == 5
    assert 1 <= (tmp_path / "runs").read_text().count("x") <= 2
    assert "retry" not in launcher.log
    agents.assert_global()


@pytest.mark.parametrize("who", ["launcher", "w2"])
@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_life_04_ranks_save_their_work(agents: Agents, mpi: Mpi, who: str) -> None:
    """TERM to any pod: both ranks are warned, save for different times, and end by themselves."""
    mpi.need()
    agents.workers(2, **mpi.pod)
    command = (PYTHON, *program("save_on_term.py", "0.5", "3")[1:])
    launcher = agents.launcher(
        *command, hosts="w1:1,w2:1", options=mpi.options, env=mpi.pod.get("env", {})
    )
    eventually(lambda: assert_up(launcher, 2), 30)
    begun = time.monotonic()
    pods = {agent.name: agent for agent in agents.all}
    pods[who].pod.send(signal.SIGTERM)
    assert launcher.wait(60) == (143 if who == "launcher" else 241), launcher.log
    assert time.monotonic() - begun < 30
    assert launcher.out.count(b"saved") == 2, launcher.log
    agents.assert_global()


def test_life_04_ranks_save_their_work_on_a_worker_that_still_starts(
    agents: Agents, tmp_path: Path
) -> None:
    """TERM to a worker whose own proof of a login takes longer than a launcher's: its ranks are warned."""
    w1 = agents.worker("w1", env={"PATH": slow_ssh(tmp_path, 60)})
    launcher = agents.launcher(PYTHON, *program("save_on_term.py", "0.5", "3")[1:])
    eventually(lambda: assert_up(launcher, 1), 30)
    assert w1.status["stage"] == "starting"
    w1.pod.send(signal.SIGTERM)
    assert launcher.wait(60) == 241, launcher.log
    assert launcher.out.count(b"saved") == 1, launcher.log
    assert "w1 was told to stop" in launcher.log
    assert w1.wait() == 143
    agents.assert_global()
