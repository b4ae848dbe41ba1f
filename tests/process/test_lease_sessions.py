"""Sessions over leases: mpirun's ssh, and any other with its ssh_config, makes no login of its own."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.agents import Agent, Agents, slow_ssh
from tests.helpers.eventually import eventually
from tests.helpers.keyfiles import make_key_directory
from tests.helpers.mpis import MPIS, Mpi
from tests.helpers.plainsshd import known_hosts, plain_sshd
from tests.process.test_every_mpi import launch

SSH = ("ssh", "-F", "/run/mpiboot/launcher/ssh_config")
PIPE = subprocess.PIPE


def logins(worker: Agent) -> int:
    """Count the logins at a worker that is ready: while it proves its own it shows none."""
    return worker.log.count("Accepted publickey")


def running(agents: Agents, *options: str, worker: Sequence[str] = ()) -> tuple[Agent, Agent]:
    """Start a job that lasts; return its worker and its launcher."""
    w1 = agents.worker("w1", *worker)
    w1.until_ready()
    launcher = agents.launcher("sh", "-c", "echo up; sleep 300", hosts="w1:1", options=options)
    eventually(lambda: assert_up(launcher), 20)
    return w1, launcher


def assert_up(launcher: Agent) -> None:
    assert b"up" in launcher.out, launcher.log


def ssh(
    launcher: Agent, *words: str, data: bytes | None = None, timeout_s: float = 30
) -> subprocess.CompletedProcess[bytes]:
    """Run ssh in the launcher's pod to its end."""
    stdin = subprocess.DEVNULL if data is None else PIPE
    popen = launcher.pod.popen_in([*SSH, *words], stdin=stdin, stdout=PIPE, stderr=PIPE)
    with popen:
        try:
            out, err = popen.communicate(data, timeout_s)
        finally:
            popen.kill()
    return subprocess.CompletedProcess(words, popen.returncode, out, err)


def stop(launcher: Agent) -> None:
    launcher.pod.send(signal.SIGTERM)
    launcher.wait(20)


@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_one_login_a_worker(agents: Agents, mpi: Mpi) -> None:
    """The lease's own is all that a worker's sshd sees of a job."""
    mpi.need()
    workers = agents.workers(2, **mpi.pod)
    for worker in workers:
        worker.until_ready()
    launcher = launch(agents, mpi, *mpi.python_program("ring.py"))
    assert launcher.wait() == 0, launcher.log
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w1", "OK 1/2 w2"]
    assert [logins(worker) for worker in workers] == [1, 1]


def test_it_can_be_switched_off(agents: Agents) -> None:
    """Then mpirun's ssh logs in by itself, and so it does where the user tells ssh something."""
    worker = agents.worker("w1", "--retry-grace", "20")
    worker.until_ready()
    for number, options in enumerate(
        (
            ("--no-lease-sessions",),
            ("--mca", "plm_rsh_args", "-o PreferredAuthentications=publickey"),
        )
    ):
        before = logins(worker)
        launcher = agents.launcher(
            "false", hosts="w1:1", name=f"launcher{number}",
            options=("--no-failure-is-final", *options),
        )  # fmt: skip
        assert launcher.wait() == 1, launcher.log
        assert logins(worker) == before + 2


def test_words_that_say_nothing_of_the_connection(agents: Agents) -> None:
    """What the MPI Operator sets for ssh is moot where a connection is open."""
    worker = agents.worker("w1")
    worker.until_ready()
    patience = {"OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10"}
    assert agents.launcher("true", hosts="w1:1", env=patience).wait() == 0
    assert logins(worker) == 1


def test_what_a_session_brings(agents: Agents) -> None:
    """Codes, both outputs, input and long command lines are as over a connection of its own."""
    worker, launcher = running(agents)
    assert (ssh(launcher, "w1", "exit 7").returncode, logins(worker)) == (7, 1)
    said = ssh(launcher, "w1", "echo out; echo err >&2; exit 3")
    assert (said.returncode, said.stdout, said.stderr) == (3, b"out\n", b"err\n")
    assert ssh(launcher, "w1", "kill -9 $$").returncode == 255
    big = b"0123456789abcdef" * (1 << 19)  # 8 MiB, more than any window or allowance at login
    digest = hashlib.sha256(big).hexdigest().encode()
    counted = ssh(launcher, "w1", "sha256sum", data=big)
    assert counted.stdout.split()[0] == digest
    echoed = ssh(launcher, "w1", "cat", data=big)
    assert hashlib.sha256(echoed.stdout).hexdigest().encode() == digest
    assert ssh(launcher, "w1", "cat; echo end", data=b"").stdout == b"end\n"
    assert ssh(launcher, "w1", "exec 0<&-; echo heard", data=big[:65536]).stdout == b"heard\n"
    long = "x" * 100_000
    assert ssh(launcher, "w1", f"printf %s {long} | wc -c").stdout.strip() == b"100000"
    assert ssh(launcher, "w1", data=b"echo shell\n").stdout == b"shell\n"
    late = ssh(launcher, "w1", "exec >&- 2>&-; sleep 0.5; exit 4")
    assert late.returncode == 4
    assert logins(worker) == 1
    stop(launcher)
    agents.assert_global()


def test_a_session_whose_output_is_no_flood(agents: Agents) -> None:
    """A worker may not say so much by itself; asked for, 80 MiB pass, and the job goes on."""
    worker, launcher = running(agents)
    done = ssh(launcher, "w1", "head -c 83886080 /dev/zero", timeout_s=60)
    assert (done.returncode, len(done.stdout)) == (0, 80 << 20)
    assert launcher.pod.processes(), launcher.log
    assert logins(worker) == 1
    stop(launcher)


def assert_none(launcher: Agent, worker: Agent, name: str) -> None:
    """Nothing of that name is left in the worker."""
    found = [one.comm for one in worker.pod.processes() if one.comm == name]
    assert found == [], launcher.log


def test_who_goes_away_ends_the_session(agents: Agents) -> None:
    """The reader of the output, or ssh itself: the command hears of it, and nothing stays behind."""
    worker, launcher = running(agents)
    script = f"{' '.join(SSH)} w1 yes | head -n 1"
    begun = time.monotonic()
    assert launcher.pod.exec(["sh", "-c", script]).stdout == "y\n"
    assert time.monotonic() - begun < 10
    eventually(lambda: assert_none(launcher, worker, "yes"), 10)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with launcher.pod.popen_in([*SSH, "w1", "cat"], stdin=PIPE, stdout=PIPE) as popen:
            eventually(lambda: assert_cat(worker), 10)
            launcher.pod.exec(["pkill", f"-{int(number)}", "-x", "ssh"])
            assert popen.wait(10) != 0
        eventually(lambda: assert_none(launcher, worker, "cat"), 10)
    assert launcher.pod.processes()
    stop(launcher)
    agents.assert_global()


def assert_cat(worker: Agent) -> None:
    assert any(one.comm == "cat" for one in worker.pod.processes())


def test_many_sessions_at_once(agents: Agents) -> None:
    """A hundred, over the one connection; each has its own answer."""
    worker, launcher = running(agents)
    script = f'for n in $(seq 100); do {" ".join(SSH)} w1 "sleep 0.5; echo said $n" & done; wait'
    said = launcher.pod.exec(["sh", "-c", script], timeout_s=60).stdout.splitlines()
    assert sorted(said) == sorted(f"said {n}" for n in range(1, 101))
    assert logins(worker) == 1
    stop(launcher)
    agents.assert_global()


def test_what_cannot_be_shared_gets_its_own_login(agents: Agents) -> None:
    """A terminal, or a subsystem: ssh is refused, and helps itself."""
    worker, launcher = running(agents, worker=("--ssh-pty",))
    got = ssh(launcher, "-tt", "w1", "echo terminal")
    assert got.stdout.strip() == b"terminal", got.stderr.decode()
    assert logins(worker) == 2
    stop(launcher)


def test_a_lost_lease_loses_its_sessions(agents: Agents) -> None:
    """Mpirun's daemons end with the connection, and the job's end is told as ever."""
    worker, launcher = running(agents, "--heartbeat", "0.5", "--lease-timeout", "3")
    with launcher.pod.popen_in([*SSH, "w1", "sleep 300"], stdin=PIPE) as popen:
        eventually(lambda: assert_asleep(worker), 10)
        worker.pod.kill()
        assert popen.wait(20) == 255
    assert launcher.wait(30) == 241


def assert_asleep(worker: Agent) -> None:
    assert sum(one.comm == "sleep" for one in worker.pod.processes()) == 2


def test_a_launcher_that_is_sooner_than_the_workers_own_proof(
    agents: Agents, tmp_path: Path
) -> None:
    """Its sessions count as well: the job has run where the worker says so, ready or not."""
    worker = agents.worker("w1", env={"PATH": slow_ssh(tmp_path, 2)})
    launcher = agents.launcher("true", hosts="w1:1")
    assert launcher.wait() == 0, launcher.log
    assert logins(worker) == 1
    assert "ready on port" not in worker.log


def test_plain_sshds_are_shared_too(
    agents: Agents, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A login that has proved that commands run is one over which mpirun's can."""
    directory = tmp_path_factory.mktemp("plain")
    job = make_key_directory(directory / "job")
    key = job / "id_ed25519"
    worker = plain_sshd(agents, "w1", host_key=key, authorized=[key], directory=directory)
    hosts = known_hosts(directory, {"w1": key})
    env = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_KEY_DIR": str(job)}
    options = ("--known-hosts", str(hosts))
    launcher = agents.launcher("true", hosts="w1:1", options=options, env=env)
    assert launcher.wait() == 0, launcher.log
    assert logins(worker) == 1
