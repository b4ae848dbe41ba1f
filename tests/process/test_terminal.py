"""A job as people look at it: the launcher's wait on a terminal, and `mpiboot status` in containers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mpiboot.local.pod import Pod
from tests.helpers.agents import MPIBOOT, PYTHON, Agent, Agents
from tests.helpers.eventually import eventually
from tests.helpers.schema import assert_valid
from tests.helpers.terminals import Terminal

STATUS = (*MPIBOOT, "status")
XTERM = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
FOREVER = ("/bin/sleep", "infinity")
GATE = """
import pathlib, sys, time
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
print("begun", flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.05)
"""


@contextmanager
def at_a_terminal(
    pod: Pod, *argv: str, columns: int = 100, lines: int = 20
) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    """Run a program in a pod as a user does with `exec -it`: the terminal is its own."""
    terminal = Terminal(columns, lines)
    ends = terminal.slave
    owned = ["setsid", "--ctty", "--wait", *argv]
    popen = pod.popen_in(owned, env=XTERM, stdin=ends, stdout=ends, stderr=ends)
    try:
        yield terminal, popen
    finally:
        if popen.poll() is None:
            os.killpg(popen.pid, signal.SIGKILL)
        popen.wait()
        terminal.close()


def ends_with(popen: subprocess.Popen[bytes], code: int) -> None:
    """Assert that a program ends with this code."""
    assert popen.wait(30) == code


def shows(terminal: Terminal, *texts: str) -> list[str]:
    """Wait until all of these stand on the screen; return its rows."""

    def check() -> list[str]:
        rows = terminal.rows
        assert all(any(text in row for row in rows) for text in texts), "\n".join(rows)
        return rows

    return eventually(check, 20)


def test_the_wait_is_a_table_that_leaves_a_line(agents: Agents) -> None:
    """Who is missing stands there with the reason until it comes; then the log has the screen alone.

    What the job's agent has left tells of it when nobody runs there any more.
    """
    agents.worker("w1")
    secret = {"MPIBOOT_SECRET": agents.secret_path.read_text(), "HOSTNAME": "launcher"}
    pod = agents.start("launcher", FOREVER, env=secret).pod
    argv = (*MPIBOOT, "launcher", "--hosts", "w1:1,w2:1", "--log-level", "debug", "--", "hostname")
    with at_a_terminal(pod, *argv) as (terminal, popen):
        rows = shows(terminal, "Waiting for workers: 1 of 2 ready", "w2", "w1")
        table = [row for row in rows if row.startswith(("HOST", "w1", "w2"))]
        assert [row.split()[0] for row in table] == ["HOST", "w2", "w1"]
        assert table[1].split()[1:4] == ["name", "does", "not"]
        assert table[2].split()[1] == "ready"
        assert "[mpiboot launcher]" in rows[0]  # the log, above the table
        agents.worker("w2")
        ends_with(popen, 0)
        rows = shows(terminal, "2 workers ready after", "exit 0: the job succeeded")
        assert {"w1", "w2"} <= set(rows)  # the job's own output
        assert "Waiting for" not in terminal.text
    with at_a_terminal(pod, *STATUS, columns=60) as (terminal, popen):
        ends_with(popen, 0)
        rows = shows(terminal, "exit 0: the job succeeded")
        assert rows[0].startswith("launcher  Succeeded")
        assert any("ended 20" in row for row in rows)
        assert [row.split()[1] for row in rows if row.startswith("w")] == ["succeeded"] * 2
    agents.all[1].pod.kill()


def test_status_shows_a_running_job_in_every_container(agents: Agents, tmp_path: Path) -> None:
    """Hosts, ranks and what they use, from the launcher's and from a worker's inside; JSON is valid.

    Who watches sees the end, and leaves with 0; Ctrl-C ends the view and not the job.
    """
    gate = tmp_path / "gate"
    w1, _ = agents.workers(2)
    launcher = agents.launcher(PYTHON, "-c", GATE, str(gate))
    eventually(lambda: _assert_begun(launcher), 30)
    for agent in (launcher, w1):
        _assert_shown(agent)
    with at_a_terminal(launcher.pod, *STATUS, "--watch", "--interval", "0.2") as (terminal, popen):
        shows(terminal, "launcher  Running", "w1    running", "of 2 ranks run", "Ctrl-C")
        terminal.type(b"\x03")
        ends_with(popen, 128 + signal.SIGINT)
        eventually(lambda: _assert_given_back(terminal))
    watching = (*STATUS, "--watch", "--interval", "0.2")
    with (
        at_a_terminal(w1.pod, *watching) as (terminal, popen),
        w1.pod.popen_in(watching, stdout=subprocess.PIPE) as lines,
        launcher.pod.popen_in((*watching, "--json"), stdout=subprocess.PIPE) as documents,
    ):
        shows(terminal, "launcher  Running", "w2    running")
        assert lines.stdout is not None
        assert documents.stdout is not None
        first = json.loads(documents.stdout.readline())
        assert b"Running: 2 of 2 workers ready" in lines.stdout.readline()
        gate.touch()
        said, told = lines.stdout.read(), documents.stdout.readlines()
        for one in (popen, lines, documents):
            ends_with(one, 0)
        rows = shows(terminal, "exit 0: the job succeeded")
        assert rows[0].startswith("launcher  Succeeded")
        assert b"exit 0: the job succeeded" in said
        last = json.loads(told[-1])
        assert (first["status"]["outcome"], last["status"]["outcome"]["code"]) == (None, 0)
    assert launcher.wait() == 0
    agents.assert_global()


def _assert_begun(launcher: Agent) -> None:
    assert launcher.out.count(b"begun") == 2


def _assert_given_back(terminal: Terminal) -> None:
    assert terminal.written.endswith(b"\x1b[?25h\x1b[?1049l")


def _assert_shown(agent: Agent) -> None:
    document = json.loads(agent.pod.exec([*STATUS, "--json"]).stdout)
    assert_valid(document, "view")
    assert [one["name"] for one in document["workers"]] == ["w1", "w2"]
    done = agent.pod.exec(STATUS)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["launcher", "Running"]
    assert "starting" in lines[2]
    assert "2 of 2 workers ready, 2 slots, 2 of 2 ranks run" in lines[3]
    assert [line.split()[0] for line in lines[6:] if " running" in line][:2] == ["w1", "w2"]
    assert "RANK  HOST  STATE" in done.stdout
    assert "\x1b" not in done.stdout


def test_where_nobody_runs_one_line_says_so(agents: Agents) -> None:
    """Exit 1, nothing on stdout; a flag that makes no sense is 64."""
    pod = agents.start("other", FOREVER).pod
    for words in ((), ("--watch",), ("--json",)):
        done = pod.exec([*STATUS, *words])
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("mpiboot: no mpiboot runs here; ask in one of the job's")
        assert done.stderr.count("\n") == 1
    done = pod.exec([*STATUS, "--interval", "soon"])
    assert done.returncode == 64
    assert done.stderr.startswith("mpiboot: --interval 'soon': expected ")
    pod.kill()
