"""Debug, run, pause, resume, and when workers leave: real jobs, driven from inside the launcher."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.agents import MPIBOOT, Agent, Agents
from tests.helpers.eventually import eventually
from tests.helpers.mpis import MPIS, Mpi

SLOW_S = 60.0
FOREVER = "1000000"


def ask(agent: Agent, *words: str) -> subprocess.CompletedProcess[str]:
    """Run an mpiboot command in the pod of an agent, as a person does with `docker exec`."""
    return agent.pod.exec([*MPIBOOT, *words], timeout_s=SLOW_S)


def until_said(agent: Agent, text: str, times: int) -> None:
    """Wait until the job has written a text a number of times."""

    def check() -> None:
        assert agent.pod.poll() is None, agent.log
        assert len(re.findall(text.encode(), agent.out)) >= times, agent.out

    eventually(check, SLOW_S)


def until_idle(workers: Sequence[Agent]) -> None:
    """Wait until workers are ready again, and nothing of the job is left there."""

    def check() -> None:
        for worker in workers:
            assert worker.pod.poll() is None, worker.log
            assert worker.job_processes() == []
            assert worker.status["stage"] == "ready"

    eventually(check, SLOW_S)


def start(agents: Agents, mpi: Mpi, tmp_path: Path, *options: str) -> Agent:
    """Start a job of two ranks on two workers that counts for ever, and wait until it does."""
    mpi.need()
    agents.workers(2, **mpi.pod)
    job = mpi.python_program("counting.py", str(tmp_path), FOREVER)
    launcher = agents.launcher(*job, options=(*mpi.options, *options), **mpi.pod)
    until_said(launcher, r"begins at 0\n", 2)
    return launcher


def finish(agents: Agents, launcher: Agent, tmp_path: Path) -> None:
    """Let the job count to its end, and check that nothing is left of it."""
    (tmp_path / "hurry").touch()
    assert launcher.wait(90) == 0
    assert launcher.out.count(b"is done") == 2
    agents.assert_global()


@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_pause_and_resume(agents: Agents, mpi: Mpi, tmp_path: Path) -> None:
    """Ranks save their work and end; the same workers go on where they were, and the job succeeds."""
    launcher = start(agents, mpi, tmp_path, "--output-dir", str(tmp_path / "ranks"))
    paused = ask(launcher, "pause")
    assert (paused.returncode, paused.stderr) == (0, "")
    assert paused.stdout == "the job is being paused\nthe job is paused\n"
    assert launcher.out.count(b"has saved") == 2
    assert launcher.status["phase"] == "Paused"
    assert launcher.job_processes() == []
    workers = agents.all[:2]
    until_idle(workers)

    again = ask(launcher, "pause")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == "mpiboot: refused: the job is paused already\n"

    resumed = ask(launcher, "resume")
    assert (resumed.returncode, resumed.stdout) == (0, "the job is being resumed\n")
    until_said(launcher, r"begins at [1-9][0-9]*\n", 2)
    launcher.until_stage("running", SLOW_S)
    finish(agents, launcher, tmp_path)
    assert [worker.pod.poll() for worker in workers] == [0, 0]
    assert "exit 0: the job succeeded" in launcher.log.splitlines()[-1]
    kept = (tmp_path / "ranks" / "rank.1.out").read_text()
    assert kept.count("begins at") == 2, "a resumed job goes on with the files of its ranks' output"


def test_pause_that_releases_the_workers(agents: Agents, tmp_path: Path) -> None:
    """They leave with 0; resume waits for new ones of the same names."""
    launcher = start(agents, MPIS[0], tmp_path)
    assert ask(launcher, "pause", "--release-workers").returncode == 0
    assert [worker.wait(SLOW_S) for worker in agents.all[:2]] == [0, 0]
    assert ask(launcher, "resume").returncode == 0
    launcher.until_stage("resuming", SLOW_S)
    assert launcher.status["phase"] == "Resuming"
    refused = ask(launcher, "pause")
    assert refused.returncode == 1
    assert "the job is not running: it is being resumed" in refused.stderr
    agents.workers(2)
    until_said(launcher, r"begins at [1-9][0-9]*\n", 2)
    finish(agents, launcher, tmp_path)


@pytest.mark.parametrize("given", [(), ("--", "echo", "by hand")], ids=["setting", "by-hand"])
def test_resume_with_another_command(
    agents: Agents, tmp_path: Path, given: tuple[str, ...]
) -> None:
    """What is given goes before --resume-command, that before the job's own; --wait tells its end."""
    launcher = start(agents, MPIS[0], tmp_path, "--resume-command", "echo 'by setting'")
    assert ask(launcher, "pause").returncode == 0
    resumed = ask(launcher, "resume", "--wait", *given)
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert resumed.stdout.splitlines()[-1] == "exit 0: the job succeeded"
    said = b"by hand" if given else b"by setting"
    assert launcher.wait(SLOW_S) == 0
    assert launcher.out.count(said + b"\n") == 2
    agents.assert_global()


def test_a_paused_job_ends_with_a_stop(agents: Agents, tmp_path: Path) -> None:
    """TERM: 143, and the workers that were kept leave at once."""
    launcher = start(agents, MPIS[0], tmp_path)
    assert ask(launcher, "pause").returncode == 0
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(SLOW_S) == 143
    assert "stopped by SIGTERM while paused" in launcher.log
    agents.assert_global()
    assert agents.codes() == {"w1": 0, "w2": 0, "launcher": 143}


DEAF = ("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.2; done")


def test_ranks_that_do_not_listen_are_stopped_all_the_same(agents: Agents) -> None:
    """After the grace, mpirun's own ladder; who waits for less is told, and the pause goes on."""
    agents.workers(2)
    launcher = agents.launcher(*DEAF, options=("--checkpoint-grace", "3"))
    until_said(launcher, "up", 2)
    early = ask(launcher, "pause", "--timeout", "0.5")
    assert (early.returncode, early.stdout) == (1, "the job is being paused\n")
    assert "not done within 0.5 s; the launcher goes on with it" in early.stderr
    launcher.until_stage("paused", SLOW_S)
    until_idle(agents.all[:2])
    assert ask(launcher, "resume", "--", "true").returncode == 0
    assert launcher.wait(SLOW_S) == 0
    agents.assert_global()


def test_a_rank_that_starts_after_the_warning_hears_of_it(agents: Agents, tmp_path: Path) -> None:
    """It ends at once, and not with the grace: what was being started had not heard the signal."""
    agents.workers(2)
    go = tmp_path / "go"
    first = f"trap '' TERM; echo up; while [ ! -e {go} ]; do sleep 0.1; done; sleep 3"
    (tmp_path / "first").write_text(first)
    script = (
        f"mpirun -H w1 -np 1 sh {tmp_path}/first & while [ ! -e {go} ]; do sleep 0.1; done;"
        " mpirun -H w2 -np 1 sleep 1000; wait"
    )
    options = ("--own-launcher", "--checkpoint-grace", "300")
    launcher = agents.launcher("sh", "-c", script, options=options)
    until_said(launcher, "up", 1)
    assert ask(launcher, "pause", "--no-wait").returncode == 0
    agents.all[0].until_logged("SIGTERM for the ranks here: 1", SLOW_S)
    go.touch()
    launcher.until_stage("paused", SLOW_S)
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(SLOW_S) == 143
    agents.assert_global()


def test_a_stop_during_a_pause_comes_first(agents: Agents) -> None:
    """TERM while ranks have time to save their work: 143, within the grace of the stop."""
    agents.workers(2)
    options = ("--checkpoint-grace", "1000", "--stop-grace", "8")
    launcher = agents.launcher(*DEAF, options=options)
    until_said(launcher, "up", 2)
    assert ask(launcher, "pause", "--no-wait").returncode == 0
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(SLOW_S) == 143
    assert "stopped by SIGTERM while being paused" in launcher.log
    agents.assert_global()
    assert agents.codes() == {"w1": 0, "w2": 0, "launcher": 143}


def test_debug_mode(agents: Agents, tmp_path: Path) -> None:
    """The plan is shown, the launcher idles, ready; runs by hand, again and again; TERM ends it."""
    agents.workers(2, "--debug", "--debug-command", "sh -c 'echo beside in $HOSTNAME; exit 3'")
    beside = f"sh -c 'touch {tmp_path}/beside; exec sleep 1000'"
    launcher = agents.launcher(
        "sh", "-c", "echo own; exit 5", options=("--debug", "--debug-command", beside)
    )
    launcher.until_stage("idle", SLOW_S)
    assert "write  " in launcher.log
    assert "exec\n" in launcher.log
    assert "mpiboot run" in launcher.log
    assert ask(launcher, "probe").stdout == "ready\n"
    eventually(lambda: _assert_exists(tmp_path / "beside"), SLOW_S)
    for worker in agents.all[:2]:
        worker.until_logged("--debug-command ended with 3", SLOW_S)
        assert worker.out == f"beside in {worker.name}\n".encode()

    own = ask(launcher, "run", "--wait")
    assert own.returncode == 5
    assert own.stdout.splitlines()[0] == "the job is being started"
    assert own.stdout.splitlines()[-1].startswith("exit 5: rank ")
    assert b"own\n" in launcher.out
    launcher.until_stage("idle", SLOW_S)

    other = ask(launcher, "run", "--wait", "--", "echo", "another one")
    assert (other.returncode, other.stdout.splitlines()[-1]) == (0, "exit 0: the job succeeded")
    assert launcher.out.count(b"another one\n") == 2
    launcher.until_stage("idle", SLOW_S)

    refused = ask(launcher, "pause")
    assert refused.stderr == "mpiboot: refused: the job is not running: the launcher is idle\n"
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(SLOW_S) == 143
    agents.assert_global()
    assert agents.codes() == {"w1": 0, "w2": 0, "launcher": 143}


def _assert_exists(path: Path) -> None:
    assert path.exists()


def test_debug_mode_idles_also_where_it_cannot_prepare(agents: Agents) -> None:
    """Somebody is there to see why, and may try again when it is mended."""
    launcher = agents.launcher(
        "true", hosts="w1:1", options=("--debug", "--wait-timeout", "1", "--attempt-timeout", "1")
    )
    launcher.until_stage("idle", SLOW_S)
    assert "not prepared: exit 240" in launcher.log
    agents.workers(1)
    agents.all[-1].until_ready(SLOW_S)

    def works() -> None:
        assert ask(launcher, "run", "--wait").returncode == 0

    eventually(works, SLOW_S)
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(SLOW_S) == 143
    agents.assert_global()


def test_a_job_in_debug_mode_can_be_paused(agents: Agents, tmp_path: Path) -> None:
    """`run` refers to `resume` then; after the end the launcher idles again."""
    mpi = MPIS[0]
    agents.workers(2)
    job = mpi.python_program("counting.py", str(tmp_path), FOREVER)
    launcher = agents.launcher(*job, options=("--debug",))
    launcher.until_stage("idle", SLOW_S)
    assert ask(launcher, "run").returncode == 0
    until_said(launcher, r"begins at 0\n", 2)
    assert ask(launcher, "pause").returncode == 0
    assert "mpiboot resume" in ask(launcher, "run").stderr
    assert ask(launcher, "resume").returncode == 0
    until_said(launcher, r"begins at [1-9][0-9]*\n", 2)
    (tmp_path / "hurry").touch()
    launcher.until_logged("exit 0: the job succeeded; idle again", SLOW_S)
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(SLOW_S) == 143
    agents.assert_global()


def test_a_launcher_that_is_not_in_debug_mode(agents: Agents, tmp_path: Path) -> None:
    """`run` and `resume` are refused in a clear line, and the job goes on."""
    launcher = start(agents, MPIS[0], tmp_path)
    run, resume = ask(launcher, "run"), ask(launcher, "resume", "--", "x")
    assert (run.returncode, resume.returncode) == (1, 1)
    assert "refused: this launcher is not in debug mode (--debug)" in run.stderr
    assert "refused: the job is not paused: it runs" in resume.stderr
    finish(agents, launcher, tmp_path)


def test_commands_where_no_launcher_runs(agents: Agents) -> None:
    """A worker says where to ask; 1, and nothing on stdout."""
    (worker,) = agents.workers(1)
    worker.until_ready(SLOW_S)
    done = ask(worker, "pause")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "mpiboot: refused: a worker runs here; ask in the launcher's container\n"
    )
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(SLOW_S) == 143
    agents.assert_global()


@pytest.mark.parametrize("code", [0, 7])
def test_workers_that_never_leave(agents: Agents, code: int) -> None:
    """They wait for a next launcher, whatever their own retry grace; that one may let them go."""
    (worker,) = agents.workers(1, "--retry-grace", "0.1")
    launcher = agents.launcher("sh", "-c", f"exit {code}", options=("--workers-leave", "never"))
    assert launcher.wait(SLOW_S) == code
    worker.until_stage("ready", SLOW_S)
    second = agents.launcher("true", hosts="w1:1", name="second")
    assert second.wait(SLOW_S) == 0
    agents.assert_global()
    assert agents.codes()["w1"] == 0


def test_workers_that_leave_on_success_only(agents: Agents) -> None:
    """After a failure they stay for the retry grace: 245 then."""
    agents.workers(1, "--retry-grace", "1")
    launcher = agents.launcher("sh", "-c", "exit 7", options=("--workers-leave", "on-success"))
    assert launcher.wait(SLOW_S) == 7
    agents.assert_global()
    assert agents.codes() == {"w1": 245, "launcher": 7}
