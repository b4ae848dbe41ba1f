"""As PID 1 of a pod and as a plain child: TERM at any time, orphans, nothing left behind."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mpiboot.runtime import processes
from tests.helpers.agents import MPIBOOT, PROGRAMS, Agent, Agents, program
from tests.helpers.eventually import eventually
from tests.helpers.plain import Plain, free_port

FAKE_MPIRUN = str(PROGRAMS / "fake_mpirun.py")
DELAYS_MS = (0, 5, 10, 20, 40, 70, 100, 200, 300)
ROUNDS = 2
AT_ONCE_S = 1.5
NOBODY = "absent.invalid:1"  # a launcher waits for it as long as it may
SSH = ("ssh", "-F", "/run/mpiboot/worker/loopback_config", "-n", "loopback")  # in a worker


def wait_ms(delay_ms: int) -> None:
    """Choose the moment of a signal: the one wait here that is not for anything."""
    time.sleep(delay_ms / 1000)


@pytest.fixture
def plain_env(tmp_path: Path) -> dict[str, str]:
    """Settings with which an agent that is not PID 1 disturbs nobody on this machine."""
    return {
        "MPIBOOT_SECRET": "not so secret a secret",
        "MPIBOOT_RUNTIME_DIR": str(tmp_path / "run"),
        "MPIBOOT_HTTP_PORT": "0",
        "MPIBOOT_SSH_PORT": str(free_port()),
    }


@pytest.mark.parametrize("role", ["worker", "launcher"])
@pytest.mark.parametrize("delay_ms", DELAYS_MS)
def test_life_01_term_right_after_the_start_of_pid_1(
    agents: Agents, role: str, delay_ms: int
) -> None:
    """TERM in the first 300 ms is not lost: the container ends at once, with 143."""
    for number in range(ROUNDS):
        name = f"p{number}"
        if role == "worker":
            agent = agents.worker(name)
        else:
            agent = agents.launcher("true", hosts=NOBODY, name=name)
        begun = time.monotonic()
        wait_ms(delay_ms)
        agent.pod.send(signal.SIGTERM)
        assert agent.wait(10) == 143
        assert time.monotonic() - begun < AT_ONCE_S + delay_ms / 1000
    agents.assert_global()


@pytest.mark.parametrize("role", ["worker", "launcher"])
@pytest.mark.parametrize("delay_ms", DELAYS_MS)
def test_term_right_after_the_start_of_a_plain_child(
    plain: Plain, plain_env: dict[str, str], role: str, delay_ms: int
) -> None:
    """Not as PID 1 it ends at once, too, and takes with it whatever it has started by then."""
    words = [role] if role == "worker" else [role, "--hosts", NOBODY, "--", "true"]
    for _ in range(ROUNDS):
        popen = plain.start([*MPIBOOT, *words], env=plain_env)
        begun = time.monotonic()
        wait_ms(delay_ms)
        popen.terminate()
        # Before Python runs, TERM has its default meaning, which is the same to every shell.
        assert popen.wait(10) in (143, -signal.SIGTERM)
        assert time.monotonic() - begun < AT_ONCE_S + delay_ms / 1000
        assert "Traceback" not in plain.log(popen)
    plain.assert_gone(1.0)


def test_several_terms_at_the_start_end_it_once(agents: Agents) -> None:
    """A burst of signals during the start is one order to stop, and the first one counts."""
    worker = agents.worker("w1")
    for number in (signal.SIGUSR1, signal.SIGINT, signal.SIGTERM, signal.SIGTERM, signal.SIGHUP):
        worker.pod.send(number)
    # Blocked signals are kept as a set, not as a queue: the lowest number comes first.
    assert worker.wait(5) in (128 + signal.SIGHUP, 128 + signal.SIGINT)
    agents.assert_global()


@pytest.mark.parametrize("hosts", ["launcher:1", NOBODY])
def test_term_while_mpirun_does_not_answer(agents: Agents, hosts: str) -> None:
    """An mpirun that hangs before it tells its version does not hold the launcher."""
    launcher = agents.launcher(
        "true", hosts=hosts, options=["--mpirun", FAKE_MPIRUN], env={"FAKE_MPIRUN_HANG": "1"}
    )
    eventually(lambda: _assert_runs(launcher, "fake_mpirun.py"))
    launcher.until_stage("waiting" if hosts == NOBODY else "launching")
    begun = time.monotonic()
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(25) == 143
    assert time.monotonic() - begun < AT_ONCE_S
    agents.assert_global()


def _assert_runs(agent: Agent, comm: str) -> None:
    assert comm[:15] in [one.comm for one in agent.pod.processes()]


def test_orphans_are_reaped_by_pid_1(agents: Agents) -> None:
    """What ssh sessions leave behind is reaped, counted, and ended with the worker."""
    worker = agents.worker("w1")
    worker.until_ready()
    # The first one's parent ends at once: a shell that is slow to end might reap it itself.
    command = "(sleep 0.1 >/dev/null 2>&1 &); sleep 1000 >/dev/null 2>&1 &"
    assert worker.pod.exec([*SSH, command]).returncode == 0

    def one_reaped_one_left() -> None:
        # One sleeps also before the other one has begun, so the count has to be there, too.
        sleeping = [one for one in worker.pod.processes() if one.comm == "sleep"]
        assert [one.state for one in sleeping] == ["S"]
        metrics = worker.pod.exec(["curl", "-sS", "http://localhost:9650/metrics"]).stdout
        (line,) = [
            one for one in metrics.splitlines() if one.startswith("mpiboot_reaped_orphans_total ")
        ]
        assert float(line.split()[1]) >= 1

    eventually(one_reaped_one_left)
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(5) == 143
    agents.assert_global()


def test_second_term_shortens_the_grace_of_a_worker(agents: Agents) -> None:
    """A session deaf to TERM holds the worker for its grace; a second TERM ends both soon."""
    worker = agents.worker("w1", "--stop-grace", "20")
    worker.until_ready()
    command = "trap '' TERM; echo deaf; while :; do sleep 1000; done"
    with worker.pod.popen_in([*SSH, command], stdout=subprocess.PIPE) as session:
        assert session.stdout is not None
        assert session.stdout.readline() == b"deaf\n"
        worker.pod.send(signal.SIGTERM)
        eventually(lambda: _assert_ending(worker))
        begun = time.monotonic()
        worker.pod.send(signal.SIGTERM)
        assert worker.wait(5) == 143
        assert time.monotonic() - begun < 2
    agents.assert_global()


def _assert_ending(worker: Agent) -> None:
    assert worker.status["stage"] == "ending"


def test_plain_worker_takes_its_sessions_along(
    plain: Plain, plain_env: dict[str, str], tmp_path: Path
) -> None:
    """As a subreaper a worker ends sshd, its sessions, and what they put in the background."""
    worker = plain.start([*MPIBOOT, "worker"], env=plain_env)
    eventually(lambda: _assert_in("ready on port", plain.log(worker)))
    config = tmp_path / "run/worker/loopback_config"
    command = "setsid sleep 1001 >/dev/null 2>&1 & exec sleep 1002"
    session = plain.start(["ssh", "-F", str(config), "-n", "loopback", command])
    eventually(lambda: _assert_sleeping(worker.pid, {"1001", "1002"}))
    worker.terminate()
    assert worker.wait(5) == 143
    assert session.wait(5) == 255
    plain.assert_gone(1.0)
    status = json.loads((tmp_path / "run/worker/status.json").read_text())
    assert status["stage"] == "ended"
    assert status["outcome"]["code"] == 143


def test_plain_launcher_takes_its_job_along(
    plain: Plain, plain_env: dict[str, str], tmp_path: Path
) -> None:
    """As a subreaper a launcher kills a deaf job with all its descendants before the grace ends."""
    words = ["launcher", "--hosts", "localhost:1", "--mpirun", FAKE_MPIRUN, "--stop-grace", "2"]
    job = f"setsid sh -c 'trap : TERM; sleep 1003 & wait; wait' & exec {' '.join(program('print_signals.py', '--stubborn'))}"
    launcher = plain.start([*MPIBOOT, *words, "--", "sh", "-c", job], env=plain_env)
    eventually(lambda: _assert_in("ready\n", plain.out(launcher)))
    eventually(lambda: _assert_sleeping(launcher.pid, {"1003"}))
    begun = time.monotonic()
    launcher.terminate()
    assert launcher.wait(5) == 143
    assert time.monotonic() - begun < 2
    plain.assert_gone(1.0)


def _assert_in(part: str, text: str) -> None:
    assert part in text


def _assert_sleeping(root: int, seconds: set[str]) -> None:
    found = set()
    for pid in processes.descendants(root):
        with contextlib.suppress(OSError):  # a shell on its way to it may end while we look
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0] == b"sleep":
                found.add(words[1].decode())
    assert found == seconds
