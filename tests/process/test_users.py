"""Users as platforms choose them: without an account, with a locked one, with no shell or home."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mpiboot.runtime import account
from tests.helpers.accountfiles import MPI, passwd, shadow
from tests.helpers.agents import PYTHON, Agent, Agents

RANDOM, ROOTS_GROUP = 1234567, 0
CONFIGURATION, LAUNCH_FAILED = 78, 242
SECRET: Mapping[str, str | None] = {
    "MPIBOOT_SECRET_FILE": None,
    "MPIBOOT_SECRET": "a secret of this test",
}
WHO = (
    PYTHON,
    "-c",
    "import getpass, os; print(os.uname().nodename, os.getuid(), getpass.getuser())",
)
NO_WRAPPER = pytest.mark.skipif(
    bool(account.look({"LD_PRELOAD": ""}).library),
    reason="this machine has libnss-wrapper, which makes accounts up",
)


def runs(agents: Agents, *, options: tuple[str, ...] = (), **pod: Any) -> Agent:
    """Run a job on w1; return the launcher."""
    launcher = agents.launcher(*WHO, hosts="w1:1", options=options, **pod)
    assert launcher.wait() == 0
    agents.assert_global()
    return launcher


def test_ssh_08_passwd_that_group_0_may_write(agents: Agents, tmp_path: Path) -> None:
    """A random uid gets a line in /etc/passwd, once for all that run in the container."""
    bind = passwd(tmp_path, mode=0o664)
    pod: dict[str, Any] = {"uid": RANDOM, "gid": ROOTS_GROUP, "env": SECRET, "binds": (bind,)}
    worker = agents.worker("w1", **pod)
    worker.until_ready()
    launcher = runs(agents, **pod)
    assert launcher.out == f"w1 {RANDOM} mpiboot\n".encode()
    added = [one for one in Path(bind.source).read_text().splitlines() if f":{RANDOM}:" in one]
    assert len(added) == 1  # both share the file here
    assert "for which a line is added to /etc/passwd" in worker.log


@NO_WRAPPER
@pytest.mark.parametrize("role", ["worker", "launcher"])
def test_ssh_08_no_account_to_be_had(agents: Agents, tmp_path: Path, role: str) -> None:
    """Without one, and without means to have one, each role ends at once and says what to change."""
    words = {"worker": (), "launcher": ("--hosts", "w1:1", "--", "true")}[role]
    pod: dict[str, Any] = {
        "uid": RANDOM,
        "gid": ROOTS_GROUP,
        "env": SECRET,
        "binds": (passwd(tmp_path),),
    }
    agent = agents.mpiboot("pod", (role, *words), **pod)
    assert agent.wait(5) == CONFIGURATION
    assert f"uid {RANDOM} has no entry in /etc/passwd" in agent.log
    assert "libnss-wrapper" in agent.log
    agents.assert_global()


def test_ssh_10_a_locked_root(agents: Agents, tmp_path: Path) -> None:
    """Root's locked account is no obstacle: PAM decides then."""
    binds = (passwd(tmp_path), shadow(tmp_path, "root"))
    agents.worker("w1", binds=binds)
    assert runs(agents).out == b"w1 0 root\n"


@pytest.mark.parametrize("launcher_uid", [0, MPI])
def test_ssh_10_root_gives_way_to_a_locked_user(
    agents: Agents, tmp_path: Path, launcher_uid: int
) -> None:
    """A worker that root starts becomes the user who logs in: no root, no lock, no capability."""
    binds = (passwd(tmp_path), shadow(tmp_path, "mpi"))
    worker = agents.worker("w1", "--ssh-user", "mpi", "--ssh-port", "2222", env=SECRET, binds=binds)
    worker.until_ready()
    status = (worker.pod.root / "proc/1/status").read_text()
    assert re.search(rf"^Uid:\s+{MPI}\s+{MPI}\s+{MPI}\s", status, re.MULTILINE)
    assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE)
    assert (worker.pod.root / "proc/1/environ").stat().st_uid == MPI  # as of any process of mpi's
    launcher = runs(
        agents, options=("--ssh-user", "mpi", "--ssh-port", "2222"), uid=launcher_uid,
        gid=launcher_uid, env=SECRET, binds=binds,
    )  # fmt: skip
    assert launcher.out == f"w1 {MPI} mpi\n".encode()


@pytest.mark.parametrize(
    ("name", "uid", "told"),
    [
        ("nobody-here", 0, "there is no user 'nobody-here'"),
        ("root", MPI, "this worker runs as mpi (uid 1000)"),
    ],
)
def test_a_user_whom_no_sshd_here_can_serve(
    agents: Agents, tmp_path: Path, name: str, uid: int, told: str
) -> None:
    """One line, at once: launchers would find a worker that refuses them."""
    pod: dict[str, Any] = {"uid": uid, "gid": uid, "env": SECRET, "binds": (passwd(tmp_path),)}
    agent = agents.worker("w1", "--ssh-user", name, **pod)
    assert agent.wait(5) == CONFIGURATION
    assert told in agent.log
    assert "Traceback" not in agent.log


@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/bin/no-such-shell"])
@NO_WRAPPER
def test_a_shell_that_starts_nothing(agents: Agents, tmp_path: Path, shell: str) -> None:
    """The worker ends before it is ready, and names the shell."""
    binds = (passwd(tmp_path, shell=shell),)
    agent = agents.worker("w1", uid=MPI, gid=MPI, env=SECRET, binds=binds)
    assert agent.wait(5) == LAUNCH_FAILED
    assert f"mpi's shell {shell} starts no command" in agent.log
    assert "usermod -s /bin/sh" in agent.log
    agents.assert_global()


@pytest.mark.parametrize("home", ["/no/such/home", "/proc", "/root"])
def test_a_home_that_is_of_no_use(agents: Agents, tmp_path: Path, home: str) -> None:
    """Absent, read-only, or closed to this user, and no HOME in the environment: a job runs."""
    pod: dict[str, Any] = {
        "uid": MPI,
        "gid": MPI,
        "env": SECRET,
        "binds": (passwd(tmp_path, home=home),),
        "tmpfs": ("/root:mode=700",) if home == "/root" else (),
    }
    agents.worker("w1", **pod)
    assert runs(agents, **pod).out == f"w1 {MPI} mpi\n".encode()


def test_ssh_07_a_plain_user_on_both_sides(agents: Agents, tmp_path: Path) -> None:
    """Port 2222 by itself, and no capability is needed."""
    pod: dict[str, Any] = {"uid": MPI, "gid": MPI, "env": SECRET, "binds": (passwd(tmp_path),)}
    worker = agents.worker("w1", **pod)
    worker.until_ready()
    assert "ready on port 2222" in worker.log
    assert runs(agents, **pod).out == f"w1 {MPI} mpi\n".encode()


def test_ssh_07_root_calls_a_plain_user(agents: Agents, tmp_path: Path) -> None:
    """A launcher of root's reaches such workers when it is told whom to log in as, and where."""
    agents.worker("w1", uid=MPI, gid=MPI, env=SECRET, binds=(passwd(tmp_path),))
    launcher = runs(agents, options=("--ssh-user", "mpi", "--ssh-port", "2222"), env=SECRET)
    assert launcher.out == f"w1 {MPI} mpi\n".encode()


def test_an_image_without_sshds_own_user(agents: Agents, tmp_path: Path) -> None:
    """Sshd's own words, and what to add: an image of copied files may lack it."""
    bind = passwd(tmp_path)
    path = Path(bind.source)
    path.write_text("".join(f"{line}\n" for line in path.read_text().splitlines()[:1]))
    agent = agents.worker("w1", binds=(bind,))
    assert agent.wait(5) == CONFIGURATION
    assert "Privilege separation user sshd does not exist" in agent.log
    assert "useradd --system sshd" in agent.log
