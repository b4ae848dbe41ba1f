"""Hooks of both roles: what they get, what they may set, and what their failure means."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.helpers.agents import PYTHON, Agents, program

QUICK = ("--mca", "odls_base_sigkill_timeout", "0")


class Hooks:
    """A directory of hooks, and how an agent is told of it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.option = ("--hooks-dir", str(directory))

    def add(self, kind: str, name: str, text: str, *, mode: int = 0o755) -> Path:
        """Write a hook; `text` without a first line is for sh."""
        path = self.directory / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if text.startswith(("#!", "\x7f")) else f"#!/bin/sh\n{text}\n")
        path.chmod(mode)
        return path


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    return Hooks(tmp_path / "hooks.d")


def test_hooks_of_both_roles_around_a_real_job(
    agents: Agents, hooks: Hooks, tmp_path: Path
) -> None:
    """Data in by variables and stdin, data out by `export` lines, in the order of names."""
    hooks.add(
        "pre-start", "10-data",
        f"cat > {tmp_path}/$MPIBOOT_ROLE.before.json\n"
        "echo export OF_HOOK=made by $MPIBOOT_HOOK on $MPIBOOT_HOSTNAME\n"
        "echo said by 10\necho loud >&2\necho export MPIBOOT_NP=9\n",
    )  # fmt: skip
    hooks.add("pre-start", "20-next", "echo 20 sees $OF_HOOK; echo half a line | tr -d '\\n'")
    hooks.add("pre-start", "20-next.bak", "exit 1")
    hooks.add("pre-start", "30-note", "exit 1", mode=0o644)
    hooks.add(
        "post-stop", "end",
        f"env > {tmp_path}/$MPIBOOT_ROLE.after.env; cat > {tmp_path}/$MPIBOOT_ROLE.after.json",
    )  # fmt: skip
    agents.worker("w1", *hooks.option)
    job = 'echo "rank: $OF_HOOK"; exit 7'
    options = (*hooks.option, *QUICK, "-x", "FROM_LAUNCHER")
    launcher = agents.launcher("sh", "-c", job, options=options, env={"FROM_LAUNCHER": "1"})
    assert launcher.wait(60) == 7
    agents.assert_global()
    worker = agents.all[0]
    assert launcher.out == b"rank: made by pre-start on w1\n"
    for agent in (worker, launcher):
        assert "hook 10-data: said by 10" in agent.log
        assert "hook 10-data: loud" in agent.log
        assert "hook 10-data: MPIBOOT_NP is not for hooks to set" in agent.log
        assert f"hook 20-next: 20 sees made by pre-start on {agent.name}" in agent.log
        assert "hook 20-next: half a line" in agent.log
        assert "30-note is not executable and is left out" in agent.log
        assert "hooks have set OF_HOOK" in agent.log
        role = "worker" if agent is worker else "launcher"
        before = json.loads((tmp_path / f"{role}.before.json").read_text())
        after = json.loads((tmp_path / f"{role}.after.json").read_text())
        assert before["role"] == role
        assert before["outcome"] is None
        assert after["outcome"]["code"] == (0 if agent is worker else 7)
        env = (tmp_path / f"{role}.after.env").read_text().splitlines()
        assert f"MPIBOOT_EXIT_CODE={after['outcome']['code']}" in env
        assert "MPIBOOT_HOOK=post-stop" in env
        assert ("MPIBOOT_NP=1" in env) == (agent is launcher)
        assert any(line.startswith("MPIBOOT_HOSTFILE=") for line in env) == (agent is launcher)
        assert not any(line.startswith("MPIBOOT_SECRET") for line in env)
    assert "MPIBOOT_FAULT=user" in (tmp_path / "launcher.after.env").read_text()


def test_what_a_launchers_hook_sets_travels_by_the_usual_rules(
    agents: Agents, hooks: Hooks
) -> None:
    """A variable that ranks get by its name reaches them, another with -x."""
    hooks.add(
        "pre-start", "set", "echo export NCCL_OF_HOOK=a; echo export ANY=b; echo export NOT=c"
    )
    agents.workers(1)
    job = 'echo "$NCCL_OF_HOOK$ANY$NOT"'
    launcher = agents.launcher("sh", "-c", job, options=(*hooks.option, "-x", "ANY"))
    assert launcher.wait(60) == 0
    assert launcher.out == b"ab\n"
    agents.assert_global()


@pytest.mark.parametrize("asked", [True, False])
def test_net_04_a_mesh_is_told_to_quit(agents: Agents, hooks: Hooks, *, asked: bool) -> None:
    """A hook tells the proxy once that the job is over; without one, nobody does."""
    proxy = agents.start("proxy", program("quitting.py", "15020"))
    proxy.until_logged("listening")
    address = f"http://{proxy.pod.address}:15020/quitquitquit"
    call = (
        f"import urllib.request as r; r.urlopen(r.Request({address!r}, method='POST'), timeout=5)"
    )
    if asked:
        hooks.add("post-stop", "quit", f"#!{PYTHON}\n{call}\n")
    agents.worker("w1")
    launcher = agents.launcher("true", hosts="w1:1", options=hooks.option)
    assert launcher.wait(30) == 0, launcher.log
    agents.assert_global(stay=[proxy])
    assert proxy.out.decode().split() == ["/quitquitquit"] * asked


def test_a_hook_that_fails_before_the_start_of_a_worker(agents: Agents, hooks: Hooks) -> None:
    """78, the hook named with its code and its last line; no sshd is started, post-stop hooks run."""
    hooks.add("pre-start", "a", "echo first; echo no driver >&2; sleep 0.2; exit 3")
    hooks.add("pre-start", "b", "echo never")
    hooks.add("post-stop", "end", "echo ended with $MPIBOOT_EXIT_CODE: $MPIBOOT_MESSAGE")
    worker = agents.worker("w1", *hooks.option)
    assert worker.wait(60) == 78
    assert "pre-start hook a ended with 3: no driver" in worker.log.splitlines()[-1]
    assert "hook end: ended with 78: pre-start hook a ended with 3: no driver" in worker.log
    assert "never" not in worker.log
    assert "sshd" not in worker.log
    assert worker.status["outcome"]["fault"] == "configuration"
    agents.assert_global()


def test_a_hook_that_fails_before_the_start_of_a_launcher(agents: Agents, hooks: Hooks) -> None:
    """78, no job, and the worker that is ready is released, unused."""
    hooks.add("pre-start", "a", "kill -SEGV $$")
    (worker,) = agents.workers(1)
    worker.until_ready(60)
    launcher = agents.launcher("echo", "ran", options=hooks.option)
    assert launcher.wait(60) == 78
    assert "pre-start hook a was killed by SIGSEGV" in launcher.log.splitlines()[-1]
    assert launcher.out == b""
    agents.assert_global()
    assert agents.codes() == {"w1": 246, "launcher": 78}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("#!/no/such/interpreter\n", "the interpreter that its first line names does not exist"),
        ("\x7fELF for nobody", "Exec format error"),
    ],
    ids=["no-interpreter", "no-format"],
)
def test_a_hook_that_cannot_be_executed(agents: Agents, hooks: Hooks, text: str, told: str) -> None:
    """78, and why."""
    hooks.add("pre-start", "a", text)
    worker = agents.worker("w1", *hooks.option)
    assert worker.wait(60) == 78
    assert f"pre-start hook a cannot be run: {told}; mend or remove" in worker.log
    agents.assert_global()


def test_a_hook_that_hangs_ends_with_its_deadline(agents: Agents, hooks: Hooks) -> None:
    """Also one that ignores TERM and whose children hold its pipes; nothing of it is left."""
    hooks.add("pre-start", "a", "trap '' TERM\necho hanging\nsleep 1000 &\nwait; sleep 1000")
    worker = agents.worker("w1", *hooks.option, "--hook-timeout", "1")
    assert worker.wait(60) == 78
    last = worker.log.splitlines()[-1]
    assert "pre-start hook a did not end within 1" in last
    assert "--hook-timeout" in last
    agents.assert_global()


def test_a_hook_that_hangs_does_not_hold_up_a_stop(agents: Agents, hooks: Hooks) -> None:
    """TERM during a hook of a launcher: 143 well within the grace."""
    hooks.add("pre-start", "a", "echo hanging; sleep 1000")
    launcher = agents.launcher("true", hosts="w1:1", options=hooks.option)
    launcher.until_logged("hook a: hanging", 60)
    launcher.pod.send(signal.SIGTERM)
    assert launcher.wait(20) == 143
    agents.assert_global()


def test_a_failure_after_the_end_changes_no_code(agents: Agents, hooks: Hooks) -> None:
    """It is a warning, and stands in the evidence; the next hook runs."""
    hooks.add("post-stop", "a", "echo disk full; exit 9")
    hooks.add("post-stop", "b", "echo b ran")
    agents.workers(1)
    launcher = agents.launcher("true", options=hooks.option)
    assert launcher.wait(60) == 0
    assert "warning: post-stop hook a ended with 9: disk full" in launcher.log
    assert "hook b: b ran" in launcher.log
    evidence = launcher.status["outcome"]["evidence"]
    assert "post-stop hook a ended with 9: disk full" in evidence
    assert launcher.status["outcome"]["code"] == 0
    agents.assert_global()


def test_hooks_after_the_end_get_no_more_than_a_stop_leaves(agents: Agents, hooks: Hooks) -> None:
    """A hook that would take for ever is ended within the stop grace."""
    hooks.add("post-stop", "a", "echo up; sleep 1000")
    worker = agents.worker("w1", *hooks.option, "--stop-grace", "4")
    worker.until_ready(60)
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(30) == 143
    assert "post-stop hook a did not end within" in worker.log
    agents.assert_global()


def test_garbage_is_logged_within_bounds(agents: Agents, hooks: Hooks) -> None:
    """Megabytes of bytes that are no text block nothing, forge nothing and fill no log."""
    hooks.add(
        "pre-start", "a",
        "head -c 3000000 /dev/urandom; printf '\\nexport BAD=\\377\\n\\033[2Jred\\n'; exit 0",
    )  # fmt: skip
    hooks.add("pre-start", "b", "head -c 3000000 /dev/zero; echo; echo b ends; echo export GOOD=1")
    worker = agents.worker("w1", *hooks.option)
    worker.until_ready(60)
    assert "hook b: b ends" in worker.log
    assert "hooks have set GOOD" in worker.log
    assert "\033" not in worker.log
    assert len(worker.log) < 600_000
    worker.pod.send(signal.SIGTERM)
    assert worker.wait(30) == 143
    agents.assert_global()
