"""Containers one by one: stop, kill, health, and what is left of a job."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.docker.conftest import Box, docker
from tests.helpers.eventually import eventually

pytestmark = pytest.mark.docker

SLEEPER = ("launcher", "--hosts", "w1:1,w2:1", "--", "sleep", "300")


def _launcher_says(box: Box, text: str, name: str = "launcher") -> None:
    def check() -> None:
        assert text in box.logs(name)

    eventually(check, timeout=30, interval=0.1)


def _minds_term(box: Box, name: str) -> None:
    """Wait until PID 1 blocks or handles TERM; before that the kernel drops it, whoever PID 1 is."""

    def check() -> None:
        process = Path(f"/proc/{box.state(name)['Pid']}")
        assert b"mpiboot" in (process / "cmdline").read_bytes()  # not the engine's own any more
        text = (process / "status").read_text(encoding="utf-8")
        masks = dict(line.split(":\t") for line in text.splitlines() if line.startswith("Sig"))
        bit = 1 << (signal.SIGTERM - 1)
        assert (int(masks["SigBlk"], 16) | int(masks["SigCgt"], 16)) & bit, masks

    eventually(check, interval=0.001)


def _running(box: Box) -> None:
    """Start a two-worker job that lasts, and see its ranks run."""
    box.start("w1", "worker")
    box.start("w2", "worker")
    box.start("launcher", *SLEEPER)

    def ranks() -> None:
        for name in ("w1", "w2"):
            assert "sleep" in _processes(box, name)

    eventually(ranks, timeout=30, interval=0.1)


def _processes(box: Box, name: str) -> list[str]:
    listed = docker("top", f"{box.run}-{name}", "-eo", "pid,stat,comm").stdout.splitlines()[1:]
    return [line.split()[2] for line in listed if not line.split()[1].startswith("Z")]


def test_job_code_7_passes_through_and_workers_leave(box: Box) -> None:
    """A job that exits 7 makes the launcher's code 7; the workers leave with 0."""
    box.start("w1", "worker")
    box.start("w2", "worker")
    box.start("launcher", "launcher", "--hosts", "w1:1,w2:1", "--", "sh", "-c", "exit 7")

    assert box.wait("launcher") == 7
    assert [box.wait(name, 30) for name in ("w1", "w2")] == [0, 0]
    assert "Traceback" not in box.logs("launcher") + box.logs("w1") + box.logs("w2")


def test_rank_killed_by_9_is_137(box: Box) -> None:
    """A rank that is killed by signal 9 makes the launcher's code 137, and is named."""
    box.start("w1", "worker")
    box.start("launcher", "launcher", "--hosts", "w1:1", "--", "sh", "-c", "kill -9 $$")

    assert box.wait("launcher") == 137
    assert "rank 0" in box.logs("launcher")
    assert box.wait("w1", 30) == 0


def test_life_01_stop_while_waiting(box: Box) -> None:
    """`docker stop` on a launcher that waits takes less than 9 s, with 143; the ready worker leaves."""
    box.start("w1", "worker")
    box.start("launcher", "launcher", "--hosts", "w1:1,nobody:1", "--", "true")
    _launcher_says(box, "launcher launcher is here", "w1")

    assert box.stop("launcher") < 9
    assert box.state("launcher")["ExitCode"] == 143
    assert box.wait("w1", 30) == 246


def test_life_01_stop_during_the_job(box: Box) -> None:
    """`docker stop` on a launcher whose job runs takes less than 9 s, with 143; no rank is left."""
    _running(box)

    assert box.stop("launcher") < 9
    assert box.state("launcher")["ExitCode"] == 143
    assert [box.wait(name, 30) for name in ("w1", "w2")] == [0, 0]


def test_life_01_stop_of_an_idle_worker(box: Box) -> None:
    """`docker stop` on an idle worker takes less than 9 s and needs no KILL."""
    box.start("w1", "worker")
    _launcher_says(box, "ready on port", "w1")

    assert box.stop("w1") < 9
    assert box.state("w1")["ExitCode"] == 143


def test_life_01_stop_of_a_worker_during_the_job(box: Box) -> None:
    """A worker that is stopped during the job ends in time; the job does not count as a success."""
    _running(box)

    assert box.stop("w1") < 9
    assert box.state("w1")["ExitCode"] == 143
    assert box.wait("launcher", 45) == 241
    assert "w1" in box.logs("launcher")
    assert box.wait("w2", 30) == 0


@pytest.mark.parametrize("role", ["worker", "launcher"])
def test_life_01_stop_right_after_the_start(box: Box, role: str) -> None:
    """A TERM in the first moments of the container is not lost, while Python itself still starts."""
    words = ("worker",) if role == "worker" else ("launcher", "--hosts", "nobody:1", "--", "true")
    for number in range(3):
        box.start(f"c{number}", *words)
        _minds_term(box, f"c{number}")

        assert box.stop(f"c{number}") < 9
        assert box.state(f"c{number}")["ExitCode"] == 143


def test_a_killed_worker_is_named_and_the_job_fails(box: Box) -> None:
    """A worker container that is killed ends the job with 241 within 45 s, by its name."""
    _running(box)
    begun = time.monotonic()
    docker("kill", f"{box.run}-w2", check=True)

    assert box.wait("launcher", 45) == 241
    assert time.monotonic() - begun < 45
    assert "w2 was lost" in box.logs("launcher")
    assert box.wait("w1", 30) == 0


def test_health_check_and_exec_probe(box: Box) -> None:
    """The probe says no before the login worked and yes after it, as an exec probe and as health."""
    health = ("--health-cmd", "mpiboot probe --for ready", "--health-interval", "1s")
    box.start("w1", "worker", options=health)

    def healthy() -> None:
        assert box.state("w1")["Health"]["Status"] == "healthy"

    eventually(healthy, timeout=30, interval=0.2)
    assert box.exec("w1", "mpiboot", "probe", "--for", "live").returncode == 0
    status = json.loads(box.exec("w1", "cat", "/run/mpiboot/worker/status.json").stdout)
    assert status["stage"] == "ready"
    assert status["ready"] is True


def test_ssh_01_run_is_a_fresh_tmpfs(box: Box) -> None:
    """A worker whose /run is an empty tmpfs becomes ready and serves a job."""
    box.start("w1", "worker", options=("--tmpfs", "/run"))
    box.start("launcher", "launcher", "--hosts", "w1:1", "--", "true")

    assert box.wait("launcher") == 0
    assert box.wait("w1", 30) == 0


def test_name_04_underscores_in_names(box: Box) -> None:
    """Workers that are reachable only under names with underscores run the job."""
    for number in (1, 2):
        alias = ("--network-alias", f"my_app_worker_{number}")
        box.start(f"w{number}", "worker", options=alias)
    hosts = "my_app_worker_1:1,my_app_worker_2:1"
    box.start("launcher", "launcher", "--hosts", hosts, "--", "hostname")

    assert box.wait("launcher") == 0
    assert {"w1", "w2"} <= set(box.logs("launcher").split())


def test_termination_message_is_written_in_place(box: Box) -> None:
    """The outcome reaches the termination log when that file exists, root cause first."""
    path = "/tmp/termination"
    script = f"touch {path}; exec mpiboot launcher --termination-log {path} --hosts w1:1 -- false"
    box.start("w1", "worker")
    box.start("launcher", "-c", script, options=("--entrypoint", "sh"))

    assert box.wait("launcher") == 1
    text = docker("cp", f"{box.run}-launcher:{path}", "-").stdout
    message = json.loads(text[text.index("{") : text.rindex("}") + 1])
    assert message["code"] == 1
    assert message["fault"] == "user"
