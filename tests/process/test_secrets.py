"""Keys and secrets of a run: who can read them while it goes on, and that nothing is left of them."""

from __future__ import annotations

import fcntl
import json
import os
import re
import resource
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mpiboot.runtime import ownership
from mpiboot.runtime.ownership import Ownership
from tests.helpers.agents import MPIBOOT, Agents, program
from tests.helpers.eventually import eventually
from tests.helpers.plain import Plain, free_port
from tests.process.test_pid1 import FAKE_MPIRUN

RING = program("ring.py")
NOBODY = "absent.invalid:1"
NOT_READY = 240


@pytest.fixture
def secret() -> str:
    return f"secret-{secrets.token_hex(16)}"


@pytest.fixture
def plain_env(tmp_path: Path, secret: str) -> dict[str, str]:
    return {
        "MPIBOOT_SECRET": secret,
        "MPIBOOT_RUNTIME_DIR": str(tmp_path / "run"),
        "MPIBOOT_HTTP_PORT": "0",
        "MPIBOOT_SSH_PORT": str(free_port()),
    }


def _left(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def _until_logged(plain: Plain, agent: subprocess.Popen[bytes], text: str) -> None:
    def check() -> None:
        assert text in plain.log(agent)

    eventually(check, 15)


@pytest.mark.parametrize("role", ["worker", "launcher"])
def test_environment_and_command_line_of_the_agent_hold_no_secret(
    plain: Plain, plain_env: dict[str, str], secret: str, role: str
) -> None:
    """/proc/PID/environ and cmdline of the agent and of all that it starts hold no secret of anybody."""
    token, word = f"token-{secret}", f"word-{secret}"
    env = {**plain_env, "WANDB_API_KEY": token}
    argv = [*MPIBOOT, role, "--secret", word]
    if role == "launcher":
        argv += ["--hosts", NOBODY, "-x", f"HF={token}", "--mpirun", FAKE_MPIRUN, "--", "true"]
    agent = plain.start(argv, env=env)
    _until_logged(plain, agent, "ready on port" if role == "worker" else "waiting for")

    for pid in (int(line.split()[0]) for line in plain.left()):
        for name in ("environ", "cmdline"):
            assert secret.encode() not in Path(f"/proc/{pid}/{name}").read_bytes(), (pid, name)
    assert b"--secret\0***\0" in Path(f"/proc/{agent.pid}/cmdline").read_bytes()
    assert secret not in plain.log(agent)
    assert "MPIBOOT_SECRET_FILE is safer" in plain.log(agent)


def test_core_of_the_agent_holds_no_memory(tmp_path: Path, secret: str) -> None:
    """A process that withholds its memory leaves a core without it; its children's cores have theirs."""
    if not (core := Path("/proc/sys/kernel/core_pattern").read_text().strip()).startswith("core"):
        pytest.skip(f"this machine gives cores to another place: {core}")
    script = (
        "import asyncio, os, sys; from mpiboot.runtime import cores; from mpiboot.runtime.children"
        " import Children\n"
        "async def main():\n"
        "    children = Children(cores.withhold())\n"
        "    child = children.spawn([sys.executable, '-c',"
        " 'import os, sys; kept = sys.argv[1][::-1]; os.chdir(\"job\"); os.abort()', sys.argv[1]])\n"
        "    child.popen.wait()\n"
        "asyncio.run(main()); kept = sys.argv[1][::-1]; os.abort()\n"
    )
    (tmp_path / "job").mkdir()
    subprocess.run(
        [sys.executable, "-c", script, secret],
        cwd=tmp_path, check=False, timeout=30, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        ),
    )  # fmt: skip
    (own,), (theirs,) = tmp_path.glob("core*"), (tmp_path / "job").glob("core*")

    assert secret[::-1].encode() not in own.read_bytes()
    assert secret[::-1].encode() in theirs.read_bytes()


@pytest.mark.parametrize("role", ["worker", "launcher"])
@pytest.mark.parametrize("how", ["ready", "at once"])
def test_runtime_directory_is_wiped_after_a_stop(
    plain: Plain, plain_env: dict[str, str], tmp_path: Path, role: str, how: str
) -> None:
    """After TERM, keys, sockets and configurations are gone; the status stays, and tells of the end."""
    options = (
        ["--hosts", NOBODY, "--mpirun", FAKE_MPIRUN, "--", "true"] if role == "launcher" else []
    )
    agent = plain.start([*MPIBOOT, role, *options], env=plain_env)
    directory = tmp_path / "run" / role
    if how == "ready":
        _until_logged(plain, agent, "ready on port" if role == "worker" else "waiting for")
        key = (directory / "user_key").stat()
        assert (key.st_mode & 0o777, directory.stat().st_mode & 0o777) == (0o600, 0o700)
    else:
        eventually(lambda: _assert_there(directory), 15)
    agent.terminate()

    assert agent.wait(15) == 128 + signal.SIGTERM
    assert _left(directory) == [".mpiboot", "status.json"]
    assert json.loads((directory / "status.json").read_text())["stage"] == "ended"


def _assert_there(path: Path) -> None:
    assert path.exists()


def test_runtime_directory_is_wiped_after_a_job(
    plain: Plain, plain_env: dict[str, str], tmp_path: Path
) -> None:
    """When the job is over, the launcher leaves nothing but its status."""
    words = ["launcher", "--hosts", "localhost:1", "--", *RING]
    launcher = plain.start([*MPIBOOT, *words], env=plain_env)

    assert launcher.wait(30) == 0, plain.log(launcher)
    assert _left(tmp_path / "run/launcher") == [".mpiboot", "status.json"]


FAILURES = {
    "nobody comes": (["launcher", "--hosts", NOBODY, "--wait-timeout", "0.5", "--", "true"], 240),
    "secret too short": (["launcher", "--hosts", NOBODY, "--secret", "short", "--", "true"], 78),
    "sshd that is none": (["worker", "--sshd", "/bin/false"], 78),
}


@pytest.mark.parametrize("case", FAILURES)
def test_runtime_directory_is_wiped_after_a_failure(
    plain: Plain, plain_env: dict[str, str], tmp_path: Path, case: str
) -> None:
    """An agent that gives up, early or late, wipes as well as one that was told to end."""
    words, code = FAILURES[case]
    agent = plain.start([*MPIBOOT, *words], env=plain_env)

    assert agent.wait(15) == code
    assert _left(tmp_path / "run" / words[0]) == [".mpiboot", "status.json"]


def test_what_a_killed_agent_left_is_not_used(
    plain: Plain, plain_env: dict[str, str], tmp_path: Path
) -> None:
    """After SIGKILL all files of the run before go at the start, even those that this run would not write."""
    first = plain.start([*MPIBOOT, "worker"], env=plain_env)
    _until_logged(plain, first, "ready on port")
    directory = tmp_path / "run/worker"
    old = (directory / "host_key").read_bytes()
    (directory / "config-stale").write_text("of the run before")
    for line in plain.left():
        os.kill(int(line.split()[0]), signal.SIGKILL)
    first.wait(5)
    second = plain.start([*MPIBOOT, "worker"], env={**plain_env, "MPIBOOT_SECRET": "another " * 3})
    _until_logged(plain, second, "ready on port")

    assert not (directory / "config-stale").exists()
    assert (directory / "host_key").read_bytes() != old
    second.terminate()
    assert second.wait(15) == 128 + signal.SIGTERM


def test_directory_of_the_user_loses_our_keys_only(tmp_path: Path) -> None:
    """A directory with files of its own, which `--runtime-dir` happens to name, keeps them."""
    (tmp_path / "data").write_text("of the user")
    (tmp_path / "user_key").write_text("ours")
    owned = Ownership(tmp_path)
    (tmp_path / "host_key").write_text("ours")
    owned.end()

    assert _left(tmp_path) == ["data"]


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    """A link in the directory goes; what it points to stays."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "data").write_text("of somebody")
    owned = Ownership(inside)
    (inside / "link").symlink_to(outside)
    (inside / "deep").mkdir()
    (inside / "deep/link").symlink_to(outside / "data")
    owned.end()

    assert _left(inside) == [".mpiboot"]
    assert (outside / "data").read_text() == "of somebody"


def test_two_owners_wipe_when_the_last_one_ends(tmp_path: Path) -> None:
    """An agent that was refused because another one lives there does not take that one's files."""
    first = Ownership(tmp_path)
    (tmp_path / "user_key").touch()
    second = Ownership(tmp_path)
    second.end()
    assert (tmp_path / "user_key").exists()
    first.end()
    assert _left(tmp_path) == [".mpiboot"]


def test_keys_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stops the wiping half-way, the keys are gone by then."""
    owned = Ownership(tmp_path)
    for name in ("agent.sock", "host_key", "user_key"):
        (tmp_path / name).touch()
    monkeypatch.setattr(ownership, "_remove", _fail)
    with pytest.raises(OSError, match="stopped"):
        owned.end()
    assert _left(tmp_path) == [".mpiboot", "agent.sock"]


def _fail(_path: Path) -> None:
    raise OSError("stopped")


def test_new_secret_after_a_restart(agents: Agents) -> None:
    """Workers, then a launcher, with a new secret in the same places run a job; the old secret is out."""
    old = agents.secret_path.read_text()
    worker = agents.worker("w1")
    worker.until_ready()
    worker.pod.send(signal.SIGTERM)
    assert worker.wait() == 128 + signal.SIGTERM
    agents.secret_path.write_text(secrets.token_hex(16))
    again = agents.worker("w1")
    again.until_ready()
    env = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_SECRET": old}
    stale = agents.launcher("true", hosts="w1:1", name="stale", env=env)
    assert stale.wait() == NOT_READY
    assert "w1: wrong host key" in stale.log
    assert "does not hold this job's key material" in stale.log
    launcher = agents.launcher(*RING, hosts="w1:1")
    assert launcher.wait() == 0
    agents.assert_global()


def test_launcher_with_the_new_secret_first(agents: Agents) -> None:
    """A worker that still has the old secret is refused by name, and nothing runs there."""
    worker = agents.worker("w1")
    worker.until_ready()
    agents.secret_path.write_text(secrets.token_hex(16))
    launcher = agents.launcher(*RING, hosts="w1:1")
    assert launcher.wait() == NOT_READY
    assert "w1: wrong host key" in launcher.log
    assert launcher.out == b""
    worker.pod.send(signal.SIGTERM)
    agents.assert_global()


def test_without_locks_only_the_end_wipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file system has no locks, what is there may be another's and stays; ours goes at the end."""
    Ownership(tmp_path).end()
    (tmp_path / "user_key").touch()
    monkeypatch.setattr(fcntl, "flock", _no_lock)
    owned = Ownership(tmp_path)
    assert (tmp_path / "user_key").exists()
    owned.end()
    assert _left(tmp_path) == [".mpiboot"]


def _no_lock(_fd: int, _how: int) -> None:
    raise OSError(37, "No locks available")


def test_rank_finds_no_secret_in_any_process(agents: Agents, secret: str) -> None:
    """A rank that reads environment and command line of all processes beside it, PID 1 too, finds none."""
    env = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_SECRET": secret, "WANDB_API_KEY": f"key-{secret}"}
    agents.worker("w1", env=env)
    look = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; echo; echo looked"
    hosts = "w1:1,launcher:1"
    launcher = agents.launcher(
        "sh", "-c", look, hosts=hosts, env=env, options=["-x", "WANDB_API_KEY"]
    )

    assert launcher.wait() == 0
    assert launcher.out.splitlines().count(b"looked") == 2
    assert b"MPIBOOT_SECRET=\0" in launcher.out.replace(b"\n", b"\0")  # PID 1 was among them
    # The rank was given this one by name; nobody else shows it, and nobody at all the job's own.
    assert f"MPIBOOT_SECRET={secret}".encode() not in launcher.out
    assert re.search(rb"(?<!key-)" + secret.encode(), launcher.out) is None
    agents.assert_global()
