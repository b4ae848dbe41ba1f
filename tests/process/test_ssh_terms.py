"""Who may log in to a worker's sshd, from where, and what a login with the job's key may do."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

from mpiboot.local.cluster import Bind
from tests.helpers.agents import PYTHON, Agent, Agents, program
from tests.helpers.keyfiles import make_key_directory

WORKERS_NOT_READY = 240
CONFIGURATION = 78
REFUSED = "not allowed because not listed in AllowUsers"
NETWORK = "10.77.0.0/16"  # of all pods of a test
ELSEWHERE = "192.0.2.0/24"


def end(worker: Agent) -> None:
    worker.pod.send(signal.SIGTERM)
    assert worker.wait() == 128 + signal.SIGTERM


def with_job_key(worker: Agent, *words: str) -> subprocess.CompletedProcess[str]:
    """Log in to a worker from its own pod, as whoever reads the job's key can."""
    config = "/run/mpiboot/worker/loopback_config"
    return worker.pod.exec(["timeout", "15", "ssh", "-F", config, *words])


def test_ssh_from_refuses_a_source_by_name(agents: Agents) -> None:
    """A launcher outside --ssh-from is refused hard; the worker's log has its address, and it stays."""
    worker = agents.worker("w1", "--ssh-from", ELSEWHERE)
    worker.until_ready()  # the proof over loopback goes on
    launcher = agents.launcher("true", hosts="w1:1")
    assert launcher.wait() == WORKERS_NOT_READY
    assert "key refused" in launcher.log
    assert "--ssh-from" in launcher.log
    refused = [line for line in worker.log.splitlines() if REFUSED in line]
    assert refused
    assert f"from {launcher.pod.address} " in refused[0]
    end(worker)


def test_ssh_from_lets_the_job_in(agents: Agents) -> None:
    """With the pods' network in --ssh-from a job runs on workers that may be reached from there."""
    for name in ("w1", "w2"):
        agents.worker(name, "--ssh-from", f"{ELSEWHERE},{NETWORK}")
    launcher = agents.launcher(*program("ring.py"))
    assert launcher.wait() == 0
    agents.assert_global()


def test_ssh_from_holds_where_nodes_announce_themselves(agents: Agents) -> None:
    """A launcher with --ssh-from hears no node from elsewhere, says so, and gives up in time."""
    worker = agents.worker("w1", "--announce-to", "launcher")
    launcher = agents.launcher(
        "true", hosts="announce:1",
        options=("--ssh-from", ELSEWHERE, "--wait-timeout", "6"),
    )  # fmt: skip
    assert launcher.wait() == WORKERS_NOT_READY
    refused = [line for line in launcher.log.splitlines() if REFUSED in line]
    assert refused
    assert f"from {worker.pod.address} " in refused[0]
    end(worker)


def test_a_bad_source_ends_at_once(agents: Agents) -> None:
    """What is no source is one line with 78, and no sshd is started."""
    worker = agents.worker("w1", env={"MPIBOOT_SSH_FROM": "launcher"})
    assert worker.wait() == CONFIGURATION
    assert "names are not looked up" in worker.log


def test_commands_and_subsystems_only(agents: Agents) -> None:
    """With the job's key: a command runs; no terminal, nothing is forwarded in either direction."""
    worker = agents.worker("w1")
    worker.until_ready()
    assert with_job_key(worker, "loopback", "echo here").stdout == "here\n"
    said = with_job_key(worker, "-tt", "loopback", "tty")
    assert "PTY allocation request failed" in said.stderr
    assert "/dev/" not in said.stdout
    no_fence = ("-oClearAllForwardings=no", "-oExitOnForwardFailure=yes")
    there = with_job_key(worker, *no_fence, "-W", "127.0.0.1:22", "loopback")
    assert there.returncode != 0
    assert "SSH-" not in there.stdout
    back = with_job_key(worker, *no_fence, "-R", "127.0.0.1:0:127.0.0.1:22", "loopback", "true")
    assert back.returncode != 0
    end(worker)


def test_ssh_pty_gives_a_terminal(agents: Agents) -> None:
    """With --ssh-pty a person who logs in gets a terminal."""
    worker = agents.worker("w1", "--ssh-pty")
    worker.until_ready()
    assert "/dev/pts/" in with_job_key(worker, "-tt", "loopback", "tty").stdout
    end(worker)


def test_the_operators_key_is_strong_enough(agents: Agents, tmp_path: Path) -> None:
    """The ECDSA key of 521 bits that the MPI Operator makes serves a job under our algorithms."""
    keys = make_key_directory(tmp_path / "keys", "id_rsa", kind="ecdsa-521-pem")
    pod: dict[str, Any] = {
        "env": {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_KEY_DIR": "/mnt"},
        "binds": (Bind(source=str(keys), target="/mnt", read_only=True),),
    }
    agents.worker("w1", **pod)
    launcher = agents.launcher("true", hosts="w1:1", **pod)
    assert launcher.wait() == 0
    agents.assert_global()


def test_a_recorded_job_says_nothing_when_it_is_replayed(agents: Agents, tmp_path: Path) -> None:
    """Who has heard a whole job, lease and all, cannot log in with it, nor speak on the link."""
    worker = agents.worker("w1")
    worker.until_ready()
    spy = (PYTHON, str(Path(__file__).with_name("programs") / "eavesdrop.py"))
    tape = tmp_path / "tape"
    tape.mkdir()
    between = agents.start("between", (*spy, "record", "w1", str(tape)))
    options = ("--workers-leave", "never", "--no-lease-sessions")
    launcher = agents.launcher("true", hosts="between:1", options=options)
    assert launcher.wait() == 0
    recorded = list(tape.iterdir())
    assert len(recorded) >= 2  # the lease, and mpirun's ssh
    before = worker.log
    assert before.count("Accepted publickey") >= 2
    said = between.pod.exec([*spy, "replay", "w1", str(tape)]).stdout
    assert len(said.splitlines()) == len(recorded)
    after = worker.log.removeprefix(before)
    assert "Accepted" not in after
    assert "launcher" not in after
    assert worker.status["stage"] == "ready"
    end(worker)
