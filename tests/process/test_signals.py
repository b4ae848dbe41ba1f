"""Signals sent to PID 1: forwarded to the job, or the order to stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpiboot.local.cluster import Cluster
from mpiboot.runtime import latch
from tests.helpers.agents import MPIBOOT, PROGRAMS, Agent, Agents, program
from tests.helpers.eventually import eventually
from tests.helpers.plain import Plain
from tests.helpers.programs.print_signals import text

FAKE_MPIRUN = str(PROGRAMS / "fake_mpirun.py")
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
FORWARDED = sorted(set(latch.CAUGHT) - set(STOPPING))
GRACE_S = 3.0


def start(agents: Agents, *words: str, options: tuple[str, ...] = ()) -> Agent:
    """Start a launcher whose mpirun becomes print_signals; return when that is ready."""
    launcher = agents.launcher(
        *program("print_signals.py", *words),
        hosts="launcher:1",
        options=["--mpirun", FAKE_MPIRUN, "--no-rank-wrapper", *options],
    )
    eventually(lambda: _assert_lines(launcher, ["ready"]))
    return launcher


def _assert_lines(launcher: Agent, lines: list[str]) -> None:
    assert launcher.out.decode().split() == lines


@pytest.fixture(scope="module")
def running(root: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """A launcher whose job prints each signal."""
    with Cluster() as cluster:
        yield start(Agents(cluster, tmp_path_factory.mktemp("signals")))


@pytest.mark.parametrize("number", FORWARDED, ids=text)
def test_signal_reaches_the_job(running: Agent, number: int) -> None:
    """A catchable signal that is no order to stop reaches mpirun, once, and the job goes on."""
    before = running.out.decode().split()
    running.pod.send(number)
    eventually(lambda: _assert_lines(running, [*before, text(number)]))
    assert running.pod.poll() is None


def test_every_catchable_signal_is_told_apart() -> None:
    """Only faults of the process itself, CHLD, PIPE, KILL and STOP are not caught."""
    left = {signal.Signals(number).name for number in set(signal.Signals) - set(latch.CAUGHT)}
    assert left == {
        "SIGKILL", "SIGSTOP", "SIGCHLD", "SIGPIPE", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS",
        "SIGFPE", "SIGSEGV", "SIGSYS",
    }  # fmt: skip
    assert set(range(signal.SIGRTMIN, signal.SIGRTMAX + 1)) <= set(latch.CAUGHT)


@pytest.mark.parametrize("number", STOPPING, ids=text)
def test_signal_stops_the_job(agents: Agents, number: int) -> None:
    """TERM, INT, HUP and QUIT reach mpirun as they are, and the launcher ends with 128 + n."""
    launcher = start(agents)
    launcher.pod.send(number)
    assert launcher.wait(5) == 128 + number
    _assert_lines(launcher, ["ready", text(number)])
    assert launcher.status["outcome"]["fault"] == "signal"
    assert "were killed" not in launcher.log
    agents.assert_global()


def test_stubborn_job_is_killed_within_the_grace(agents: Agents) -> None:
    """A job that ignores TERM is killed before the grace is over; the code is TERM's all the same."""
    launcher = start(agents, "--stubborn", options=("--stop-grace", str(GRACE_S)))
    begun = time.monotonic()
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait() == 143
    assert GRACE_S / 2 - 0.1 < time.monotonic() - begun < GRACE_S
    _assert_lines(launcher, ["ready", "SIGTERM"])
    agents.assert_global()


def test_second_term_shortens_the_grace(agents: Agents) -> None:
    """With 20 s of grace left, a second TERM ends a stubborn job within two seconds."""
    launcher = start(agents, "--stubborn", options=("--stop-grace", "20"))
    launcher.pod.send(signal.SIGTERM)
    eventually(lambda: _assert_lines(launcher, ["ready", "SIGTERM"]))
    assert launcher.pod.poll() is None
    begun = time.monotonic()
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(5) == 143
    assert time.monotonic() - begun < 2
    agents.assert_global()


def test_stopped_descendant_is_killed_too(agents: Agents, tmp_path: Path) -> None:
    """What a job leaves in a session of its own, stopped and deaf to TERM, does not outlive it."""
    (tmp_path / "deaf").write_text("trap '' TERM; touch $0.up; kill -STOP $$; sleep 1000")
    deaf = f"{tmp_path}/deaf"
    job = f"setsid sh {deaf} & until test -e {deaf}.up; do :; done; echo up"
    options = ["--mpirun", FAKE_MPIRUN, "--no-rank-wrapper", "--stop-grace", str(GRACE_S)]
    launcher = agents.launcher("sh", "-c", job, hosts="launcher:1", options=options)
    assert launcher.wait(10) == 0
    assert launcher.out == b"up\n"
    agents.assert_global()


def test_nohup_is_respected(plain: Plain, tmp_path: Path) -> None:
    """A signal that our parent had us ignore is neither an order nor forwarded: nohup works."""
    env = {
        "MPIBOOT_RUNTIME_DIR": str(tmp_path / "run"),
        "MPIBOOT_SECRET": "s" * 32,
        "MPIBOOT_HTTP_PORT": "0",
    }
    words = [
        "launcher",
        "--hosts",
        "localhost:1",
        "--mpirun",
        FAKE_MPIRUN,
        "--no-rank-wrapper",
        "--",
    ]
    argv = ["nohup", *MPIBOOT, *words, *program("print_signals.py")]
    popen = plain.start(argv, env=env)
    eventually(lambda: _assert_text(plain.out(popen), "ready\n"))
    popen.send_signal(signal.SIGHUP)
    popen.send_signal(signal.SIGUSR1)
    eventually(lambda: _assert_text(plain.out(popen), "ready\nSIGUSR1\n"))
    popen.send_signal(signal.SIGTERM)
    assert popen.wait(10) == 143
    plain.assert_gone()


def _assert_text(text: str, expected: str) -> None:
    assert text == expected
