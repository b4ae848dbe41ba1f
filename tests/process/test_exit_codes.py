"""The launcher's exit code is the job's; stdout is the job's, byte for byte."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpiboot.local.cluster import Cluster
from tests.helpers.accountfiles import MPI, passwd
from tests.helpers.agents import PYTHON, Agent, Agents
from tests.helpers.eventually import eventually

# Open MPI waits two seconds over each rank that failed; these tests are not about that.
QUICK = ("--mca", "odls_base_sigkill_timeout", "0")
CODES = (0, 1, 2, 7, 32, 64, 127, 254, 255)
DEATHS = {9: 137, 15: 143, 11: 139}
MIB = 1 << 20
# Every byte value, a half line at the end, larger than any pipe.
BINARY = f"import os; os.write(1, bytes(range(256)) * {4 * MIB // 256} + b'no newline')"


def job_of(code: int) -> list[str]:
    return ["sh", "-c", f"exit {code}"]


def death_by(number: int) -> list[str]:
    return ["sh", "-c", f"kill -{number} $$"]


@pytest.fixture(scope="module")
def ended(root: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Agent]]:
    """Jobs that end in each way, each with a worker of its own, all at the same time.

    Open MPI takes two seconds over each failure; one after the other they would take a minute.
    """
    directory = tmp_path_factory.mktemp("codes")
    not_executable = directory / "not-executable"
    not_executable.write_text("#!/bin/sh\n")
    not_a_program = directory / "not-a-program"
    not_a_program.write_bytes(b"\0\1\2\3")
    not_a_program.chmod(0o755)
    jobs = {f"exit-{code}": job_of(code) for code in CODES}
    jobs |= {f"death-{number}": death_by(number) for number in DEATHS}
    jobs |= {
        "absent-path": ["/no/such/program"],
        "absent-name": ["no-such-program"],
        "not-executable": [str(not_executable)],
        "not-a-program": [str(not_a_program)],
    }
    with Cluster() as cluster:
        agents = Agents(cluster, directory)
        launchers = {}
        for name, job in jobs.items():
            agents.worker(f"w-{name}")
            launchers[name] = agents.launcher(*job, hosts=f"w-{name}:1", name=name)
        for launcher in launchers.values():
            launcher.wait(60)
        agents.assert_global()
        yield launchers


@pytest.mark.parametrize("code", CODES)
def test_code_of_the_job_passes_through(ended: dict[str, Agent], code: int) -> None:
    """Whatever the job's code is, it is the launcher's, and the outcome says so."""
    launcher = ended[f"exit-{code}"]
    assert launcher.wait() == code
    outcome = launcher.status["outcome"]
    assert outcome["code"] == code
    assert outcome["ran"] is True
    assert outcome["fault"] == ("user" if code else "none")


@pytest.mark.parametrize(("number", "code"), DEATHS.items())
def test_rank_killed_by_a_signal(ended: dict[str, Agent], number: int, code: int) -> None:
    """A rank that dies of signal n makes the code 128 + n."""
    launcher = ended[f"death-{number}"]
    assert launcher.wait() == code
    assert launcher.status["outcome"]["fault"] == "user"


def test_first_failure_is_named(ended: dict[str, Agent]) -> None:
    """Rank, host, code or signal stand in the outcome and in the last line, whatever mpirun says."""
    for code in set(CODES) - {0}:
        launcher, host = ended[f"exit-{code}"], f"w-exit-{code}"
        told = f"rank 0 on {host} ended with {code}"
        failure = {"message": told, "host": host, "rank": 0, "code": code}
        assert launcher.status["outcome"]["failures"] == [failure]
        assert f"exit {code}: {told}\n" in launcher.log
    for number, code in DEATHS.items():
        launcher, host = ended[f"death-{number}"], f"w-death-{number}"
        told = f"rank 0 on {host} was killed by {signal.Signals(number).name}"
        failure = {"message": told, "host": host, "rank": 0, "signal": number}
        assert launcher.status["outcome"]["failures"] == [failure]
        assert f"exit {code}: {told}\n" in launcher.log


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("absent-path", 127, "was not found there"),
        ("absent-name", 127, "was not found on PATH"),
        ("not-executable", 126, "permission is denied"),
        ("not-a-program", 126, "it is no program for this machine"),
    ],
)
def test_program_that_cannot_run(ended: dict[str, Agent], name: str, code: int, words: str) -> None:
    """A missing program is 127, one that cannot be executed 126, as every shell has it."""
    launcher = ended[name]
    assert launcher.wait() == code
    last = launcher.log.splitlines()[-1]
    assert f"exit {code}: rank 0 on w-{name}: " in last
    assert words in last


def test_no_command(agents: Agents) -> None:
    """A launcher without a command ends at once with 64 and says how to give one."""
    launcher = agents.launcher(hosts="w1:1")
    assert launcher.wait(5) == 64
    assert "no command for the job; write it after --" in launcher.log
    agents.assert_global()


def test_more_ranks_than_slots(agents: Agents) -> None:
    """-np beyond the slots ends with 78 and the table of the slots; no rank starts."""
    agents.workers(2)
    launcher = agents.launcher("echo", "started", hosts="w1:1,w2:2", options=["-np", "4"])
    assert launcher.wait() == 78
    assert launcher.out == b""
    assert "4 ranks are wanted, but the workers have 3 slots" in launcher.log
    assert re.findall(r"  (w\d) +slots (\d)", launcher.log) == [("w1", "1"), ("w2", "2")]
    agents.assert_global()


def test_no_mpi(agents: Agents) -> None:
    """Without an MPI the launcher ends soon with 78, and workers that are ready are released."""
    agents.workers(1)[0].until_ready()
    begun = time.monotonic()
    launcher = agents.launcher("true", env={"PATH": "/usr/local/bin"})
    assert launcher.wait() == 78
    assert time.monotonic() - begun < 6
    assert "no mpirun on PATH" in launcher.log
    agents.assert_global()
    assert agents.codes()["w1"] == 246


def test_unknown_mpi(agents: Agents) -> None:
    """A program that is no MPI that we know ends the launcher with 78, named by its own words."""
    launcher = agents.launcher("true", hosts="launcher:1", options=["--mpirun", "/bin/true"])
    assert launcher.wait(10) == 78
    assert "/bin/true" in launcher.log
    agents.assert_global()


def test_exit_01_log_file(agents: Agents, tmp_path: Path) -> None:
    """--log-file has the output of all ranks, stdout has it too, and the code is the job's."""
    log = tmp_path / "job.log"
    agents.workers(2)
    # The first failure ends the other rank, so each waits until both have spoken.
    job = (
        "rank=$OMPI_COMM_WORLD_RANK; echo out $rank; echo err $rank >&2; touch $0.$rank;"
        " until test -e $0.0 -a -e $0.1; do sleep 0.01; done; exec false"
    )
    launcher = agents.launcher("sh", "-c", job, str(log), options=["--log-file", str(log)])
    assert launcher.wait() == 1
    lines = log.read_text().splitlines()
    assert {"out 0", "out 1", "err 0", "err 1"} <= set(lines)
    assert sorted(launcher.out.split(b"\n")) == [b"", b"out 0", b"out 1"]
    agents.assert_global()


@pytest.mark.parametrize("options", [(), ("--log-file",)], ids=["direct", "log-file"])
def test_stdout_is_the_jobs_alone(agents: Agents, tmp_path: Path, options: tuple[str, ...]) -> None:
    """4 MiB of every byte value and no last newline come through as they are; stderr comes too."""
    log = tmp_path / "job.log"
    agents.workers(1)
    job = f"{BINARY}; os.write(2, b'from the job\\n')"
    given = [*options, str(log)] if options else []
    launcher = agents.launcher(PYTHON, "-c", job, options=given)
    assert launcher.wait() == 0
    expected = bytes(range(256)) * (4 * MIB // 256) + b"no newline"
    assert hashlib.sha256(launcher.out).digest() == hashlib.sha256(expected).digest()
    assert "from the job\n" in launcher.log
    if options:
        assert expected[-1000:] in log.read_bytes()
    agents.assert_global()


def test_stdin_reaches_rank_0(agents: Agents) -> None:
    """The launcher's stdin is rank 0's, to its end of file."""
    agents.workers(1)
    text = b"line\n" * 10_000 + b"end"
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        launcher = agents.launcher("sha256sum", stdin=cat.stdout)
        assert cat.stdin is not None
        cat.stdin.write(text)
        cat.stdin.close()
        assert launcher.wait() == 0
    assert launcher.out.split()[0].decode() == hashlib.sha256(text).hexdigest()
    agents.assert_global()


def test_out_03_last_output_of_a_killed_rank(agents: Agents) -> None:
    """What a rank printed before it was killed was seen while it lived, and the code is 137."""
    agents.workers(1)
    # No flush, no -u: a Python that writes to a pipe would keep it to itself.
    job = "import os, sys; print('step 1'); sys.stdin.read(); os.kill(os.getpid(), 9)"
    held = os.pipe()
    try:
        launcher = agents.launcher(PYTHON, "-c", job, stdin=held[0], options=QUICK)
        launcher.until_stage("running")
        eventually(lambda: _assert_out(launcher, b"step 1\n"), 2)
        assert launcher.pod.poll() is None
    finally:
        for fd in held:
            os.close(fd)
    assert launcher.wait() == 137
    _assert_out(launcher, b"step 1\n")
    agents.assert_global()


def _assert_out(agent: Agent, expected: bytes) -> None:
    assert agent.out == expected


def test_res_11_root_is_allowed(agents: Agents) -> None:
    """As root, without Open MPI's two variables, the job runs."""
    launcher = agents.job("id", "-u")
    assert launcher.wait() == 0
    assert launcher.out == b"0\n"


@pytest.mark.parametrize("command", ["config", "config --markdown", "schema", "--help"])
def test_a_reader_that_leaves(command: str) -> None:
    """`mpiboot config | head` ends as other programs do: no traceback, 128 + PIPE."""
    argv = [sys.executable, "-I", "-m", "mpiboot", *command.split()]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as popen:
        assert popen.stdout is not None
        assert popen.stderr is not None
        popen.stdout.close()
        said = popen.stderr.read()
    assert (popen.returncode, said) == (141, b"")


def test_a_plan_needs_no_keys(agents: Agents, tmp_path: Path) -> None:
    """0 with the whole plan, and a note of what is missing; the job itself is refused with 78."""
    pod: dict[str, Any] = {
        "env": {"MPIBOOT_SECRET_FILE": None, "HOME": "/nowhere"},
        "binds": (passwd(tmp_path, home="/nowhere"),),
        "uid": MPI,
    }
    words = ("--hosts", "w1:1,w2:2", "--", "true")
    plan = agents.mpiboot("plan", ["plan", *words], **pod)
    assert plan.wait() == 0
    assert b"note   no keys are there yet, and the job needs some: make a secret" in plan.out
    assert b"-np 3" in plan.out
    launcher = agents.mpiboot("launcher", ["launcher", *words], **pod)
    assert launcher.wait() == 78
    assert "no key material" in launcher.log
