"""sshd and keys as containers have them: no host keys, wrong modes, foreign owners, odd homes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from mpiboot.local.cluster import Bind
from tests.helpers.accountfiles import MPI, passwd
from tests.helpers.agents import MPIBOOT, Agent, Agents, program
from tests.helpers.eventually import eventually
from tests.helpers.keyfiles import KINDS, make_key, make_key_directory, public

RING = program("ring.py")
CONFIGURATION = 78
FOREVER = ("sleep", "infinity")
FOREIGN_GID = 1337
SSHD_CONFIG = "/run/mpiboot/worker/sshd_config"
NO_SECRET = {"MPIBOOT_SECRET_FILE": None}


def keys_at(source: Path, target: str, *tmpfs: str) -> dict[str, Any]:
    """Lay out a pod with a key directory at some place, as a read-only mount."""
    return {
        "env": NO_SECRET,
        "tmpfs": tmpfs,
        "binds": (Bind(source=str(source), target=target, read_only=True),),
    }


def assert_job_runs(agents: Agents, *options: str, **pod: Any) -> None:
    """Run one rank on the one worker that is there, and check everything."""
    launcher = agents.launcher(*RING, hosts="w1:1", options=options, **pod)
    assert launcher.wait() == 0
    assert launcher.out == b"OK 0/1 w1\n"
    agents.assert_global()


def strict_modes(worker: Agent) -> str:
    """Ask sshd how it reads the agent's configuration."""
    worker.until_ready()
    told = worker.pod.exec(["/usr/sbin/sshd", "-T", "-f", SSHD_CONFIG]).stdout
    found = re.search(r"^strictmodes (\w+)$", told, re.MULTILINE)
    assert found is not None
    return found[1]


def snapshot(directory: Path) -> dict[str, tuple[int, int, int, int, bytes]]:
    """Everything about a directory's files that must not change."""
    found = {}
    for path in sorted(directory.iterdir()):
        status = path.stat()
        about = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns)
        found[path.name] = (*about, path.read_bytes())
    return found


def host_keys(client: Agent, *hosts: str, port: int = 22) -> dict[str, set[str]]:
    """Ask sshds for all their host keys: host → lines `type base64`."""
    told = client.pod.exec(["ssh-keyscan", "-p", str(port), *hosts]).stdout
    found: dict[str, set[str]] = {}
    for line in told.splitlines():
        host, key = line.split(" ", 1)
        found.setdefault(re.sub(r"\[(.*)\]:\d+", r"\1", host), set()).add(key)
    return found


def end(worker: Agent) -> None:
    worker.pod.send(signal.SIGTERM)
    assert worker.wait() == 128 + signal.SIGTERM


def test_ssh_01_run_is_empty(agents: Agents) -> None:
    """With a fresh tmpfs on /run, sshd's directory is made with its owner and mode."""
    worker = agents.worker("w1", tmpfs=("/run:mode=755",))
    worker.until_ready()
    made = (worker.pod.root / "run/sshd").stat()
    assert (made.st_mode & 0o7777, made.st_uid) == (0o755, 0)
    assert_job_runs(agents)


def test_ssh_01_run_is_read_only(agents: Agents) -> None:
    """Where /run/sshd cannot be made, the worker says exactly that and ends with 78."""
    env = {"MPIBOOT_SECRET": "a secret of this test"}
    worker = agents.start("w1", (*MPIBOOT, "worker"), env=env, tmpfs=("/run:ro",))
    assert worker.wait() == CONFIGURATION
    assert "/run/sshd" in worker.log
    assert "Read-only file system" in worker.log
    assert "mount a tmpfs at /run" in worker.log
    agents.assert_global()


def test_ssh_02_no_host_keys_in_the_image(agents: Agents) -> None:
    """Without /etc/ssh a worker is ready within 5 s; each job has a host key of its own."""
    other = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_SECRET": "another secret of this test"}
    start = time.monotonic()
    job = [agents.worker(name, tmpfs=("/etc/ssh",)) for name in ("w1", "w2")]
    strange = agents.worker("w3", env=other, tmpfs=("/etc/ssh",))
    for worker in (*job, strange):
        worker.until_ready(5)
    assert time.monotonic() - start < 5
    client = agents.start("client", FOREVER)
    keys = host_keys(client, "w1", "w2", "w3")
    assert len(keys["w1"]) == 1
    assert keys["w1"] == keys["w2"]  # derived from the job's secret, so that the launcher knows it
    assert keys["w1"].isdisjoint(keys["w3"])
    end(strange)
    launcher = agents.launcher(*RING, hosts="w1:1,w2:1")
    assert launcher.wait() == 0
    agents.assert_global(stay=[client])


def test_ssh_02_no_host_keys_as_a_plain_user(agents: Agents, tmp_path: Path) -> None:
    """A worker that runs as uid 1000 serves its own host key on port 2222."""
    pod: dict[str, Any] = {
        "uid": MPI,
        "env": {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_SECRET": "a secret of this test"},
        "tmpfs": ("/etc/ssh", "/tmp:mode=1777"),
        "binds": (passwd(tmp_path),),
    }
    worker = agents.worker("w1", **pod)
    worker.until_ready(5)
    client = agents.start("client", FOREVER)
    assert len(host_keys(client, "w1", port=2222)["w1"]) == 1
    client.pod.kill()
    assert client.wait() == 128 + signal.SIGKILL
    launcher = agents.launcher("cat", "/proc/sys/kernel/hostname", hosts="w1:1", **pod)
    assert launcher.wait() == 0
    assert launcher.out == b"w1\n"
    agents.assert_global()


def test_ssh_02_baked_host_keys_are_never_used(agents: Agents, tmp_path: Path) -> None:
    """Host keys that lie in the image are nobody's secret: no worker shows them."""
    baked = [
        make_key(tmp_path / "etc-ssh", f"ssh_host_{kind}_key", kind=kind)
        for kind in ("ed25519", "rsa")
    ]
    image = Bind(source=str(tmp_path / "etc-ssh"), target="/etc/ssh")
    worker = agents.worker("w1", binds=(image,))
    worker.until_ready()
    client = agents.start("client", FOREVER)
    shown = host_keys(client, "w1")["w1"]
    assert shown
    assert shown.isdisjoint(" ".join(public(key).split()[:2]) for key in baked)
    end(worker)
    agents.assert_global(stay=[client])


def test_ssh_03_a_foreign_group_may_write(agents: Agents, tmp_path: Path) -> None:
    """Keys in a group-writable directory of a foreign group work, with StrictModes on."""
    keys = make_key_directory(tmp_path / "keys")
    for path in (keys, *keys.iterdir()):
        os.chown(path, 0, FOREIGN_GID)
    keys.chmod(0o2775)
    pod = keys_at(keys, "/root/.ssh")
    assert strict_modes(agents.worker("w1", **pod)) == "yes"
    assert_job_runs(agents, **pod)


def test_ssh_03_a_secret_volume(agents: Agents, tmp_path: Path) -> None:
    """Keys as kubelet mounts them, symlinks through ..data in a 1777 directory, work as they are."""
    made, volume = make_key_directory(tmp_path / "made"), tmp_path / "volume"
    data = volume / "..2026_01_01"
    shutil.copytree(made, data)
    (volume / "..data").symlink_to(data.name)
    for path in data.iterdir():
        path.chmod(0o644)
        (volume / path.name).symlink_to(f"..data/{path.name}")
    volume.chmod(0o1777)
    pod = keys_at(volume, "/mnt/keys", "/mnt")
    link = ("sh", "-c", 'ln -s /mnt/keys "$HOME/.ssh" && exec "$@"', "link", *MPIBOOT)
    pod["env"] = {}
    worker = agents.start("w1", (*link, "worker"), **pod)
    assert strict_modes(worker) == "yes"
    launcher = agents.start("launcher", (*link, "launcher", "-H", "w1:1", "--", *RING), **pod)
    assert launcher.wait() == 0
    assert launcher.out == b"OK 0/1 w1\n"
    agents.assert_global()


def test_ssh_03_a_home_that_all_may_write(agents: Agents, tmp_path: Path) -> None:
    """A home of mode 0777 does not matter: sshd reads the agent's own copies."""
    keys = make_key_directory(tmp_path / "keys")
    pod = keys_at(keys, "/root/.ssh", "/root:mode=777")
    assert strict_modes(agents.worker("w1", **pod)) == "yes"
    assert_job_runs(agents, **pod)


@pytest.mark.parametrize(("mode", "gid"), [(0o644, 0), (0o640, FOREIGN_GID)])
def test_ssh_04_a_private_key_too_open(agents: Agents, tmp_path: Path, mode: int, gid: int) -> None:
    """A mounted key that others may read works, and stays as it is."""
    keys = make_key_directory(tmp_path / "keys")
    for path in keys.iterdir():
        os.chown(path, 0, gid)
        path.chmod(mode)
    before = snapshot(keys)
    pod = keys_at(keys, "/root/.ssh")
    agents.worker("w1", **pod)
    assert_job_runs(agents, **pod)
    assert snapshot(keys) == before


def test_ssh_14_a_rejected_login_is_in_the_log(agents: Agents, tmp_path: Path) -> None:
    """A wrong key leaves user and reason in the worker's log; a login costs a line or two."""
    keys, wrong = make_key_directory(tmp_path / "keys"), make_key(tmp_path / "wrong")
    worker = agents.worker("w1", **keys_at(keys, "/root/.ssh"))
    worker.until_ready()
    client = agents.start("client", FOREVER)
    options = ["-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new"]
    ssh = ["ssh", *options, "-o", "UserKnownHostsFile=/run/known", "-i"]
    assert client.pod.exec([*ssh, str(wrong), "w1", "true"]).returncode == 255
    worker.until_logged("user root")
    rejected = [line for line in worker.log.splitlines() if "sshd:" in line]
    assert any(client.pod.address in line and "authenticating user" in line for line in rejected)
    assert client.pod.exec([*ssh, str(wrong), "stranger@w1", "true"]).returncode == 255
    worker.until_logged("stranger")
    eventually(lambda: _assert_rejected(worker, 2))
    lines = len(worker.log.splitlines())
    logins = 5
    for _ in range(logins):
        assert client.pod.exec([*ssh, str(keys / "id_ed25519"), "w1", "true"]).returncode == 0
    end(worker)
    assert len(worker.log.splitlines()) - lines <= 2 * logins + 2  # and the worker's own end
    agents.assert_global(stay=[client])


def _assert_rejected(worker: Agent, count: int) -> None:
    """The metric counts logins, not what sshd says of each."""
    page = worker.pod.exec(["curl", "-sS", "http://localhost:9650/metrics"]).stdout
    assert f"mpiboot_sshd_rejected_logins_total {count}.0\n" in page


@pytest.mark.parametrize("authorized", [True, False])
def test_ssh_17_seven_other_keys(agents: Agents, tmp_path: Path, *, authorized: bool) -> None:
    """Seven other keys beside the job's, named in the system's ssh_config, are never offered."""
    job = make_key_directory(tmp_path / "job")
    home = tmp_path / "home"
    shutil.copytree(job, home)
    if not authorized:
        (home / "authorized_keys").unlink()
    others = [make_key(home, f"extra{number}") for number in range(7)]
    config = tmp_path / "ssh_config"
    names = [f"  IdentityFile /root/.ssh/{other.name}\n" for other in others]
    config.write_text("Host *\n" + "".join(names))
    agents.worker("w1", **keys_at(job, "/root/.ssh"))
    pod = keys_at(home, "/root/.ssh")
    system = Bind(source=str(config), target="/etc/ssh/ssh_config")
    assert_job_runs(agents, **{**pod, "binds": (*pod["binds"], system)})


def test_ssh_18_home_is_not_the_passwd_home(agents: Agents, tmp_path: Path) -> None:
    """Keys below $HOME are found although the passwd entry names another home."""
    keys = make_key_directory(tmp_path / "keys")
    pod = keys_at(keys, "/home/j/.ssh", "/home")
    pod["env"] = {**NO_SECRET, "HOME": "/home/j"}
    agents.worker("w1", **pod)
    assert_job_runs(agents, **pod)


@pytest.mark.parametrize(
    ("kind", "authorized"), [*((kind, False) for kind in KINDS), ("ecdsa-521-pem", True)]
)
def test_key_directories(agents: Agents, tmp_path: Path, kind: str, *, authorized: bool) -> None:
    """Each kind of key works under any file name, with and without authorized_keys."""
    keys = make_key_directory(tmp_path / "keys", "some.data", kind=kind, authorized=authorized)
    if not authorized:
        (keys / "some.data.pub").unlink()
    if kind == "ecdsa-521-pem":
        assert "BEGIN EC PRIVATE KEY" in (keys / "some.data").read_text()
    env = {**NO_SECRET, "MPIBOOT_KEY_DIR": str(keys)}
    agents.worker("w1", env=env)
    assert_job_runs(agents, env=env)


def test_secret_in_a_variable_and_in_a_file(agents: Agents) -> None:
    """The same secret works from a file and from a variable; it stands in no log and no argv."""
    secret = agents.secret_path.read_text()
    worker = agents.worker("w1", env={**NO_SECRET, "MPIBOOT_SECRET": f"{secret}\n"})
    worker.until_ready()
    lines = [path.read_bytes() for path in (worker.pod.root / "proc").glob("[0-9]*/cmdline")]
    assert lines
    assert not any(secret.encode() in line for line in lines)
    assert_job_runs(agents)
    assert not any(secret in agent.log for agent in agents.all)


ROLES = {"worker": ("worker",), "launcher": ("launcher", "--hosts", "w9:1", "--", "true")}


def refused(agents: Agents, role: str, **pod: Any) -> str:
    """Start a role that must end with 78 within 5 s; return what it said."""
    start = time.monotonic()
    agent = agents.mpiboot("pod", ROLES[role], **pod)
    assert agent.wait() == CONFIGURATION
    assert time.monotonic() - start < 5
    agents.assert_global()
    return agent.log


@pytest.mark.parametrize("role", ROLES)
def test_no_key_material(agents: Agents, role: str) -> None:
    """Without any key, the role says where it looked and how to make a secret."""
    said = refused(agents, role, env=NO_SECRET)
    assert "/root/.ssh" in said
    assert "mpiboot keygen" in said


@pytest.mark.parametrize("role", ROLES)
def test_secret_too_short(agents: Agents, role: str) -> None:
    """A secret that can be guessed is refused, by the variable's name and without its text."""
    said = refused(agents, role, env={**NO_SECRET, "MPIBOOT_SECRET": "pa55word"})
    assert "MPIBOOT_SECRET has 8 characters, fewer than 16" in said
    assert "pa55word" not in said


@pytest.mark.parametrize("role", ROLES)
def test_ssh_05_a_key_that_this_user_cannot_read(agents: Agents, tmp_path: Path, role: str) -> None:
    """A key of root's, 0600, under another uid: path, mode, owner, own uid and the two remedies."""
    keys = make_key_directory(tmp_path / "keys")
    key = Bind(source=str(keys), target="/run/keys")
    env = {**NO_SECRET, "MPIBOOT_KEY_DIR": "/run/keys"}
    said = refused(
        agents, role, uid=MPI, env=env, binds=(key, passwd(tmp_path)), tmpfs=("/tmp:mode=1777",)
    )
    for part in ("/run/keys/id_ed25519", "0600", "0:0", f"uid {MPI}", "fsGroup", "defaultMode"):
        assert part in said


@pytest.mark.parametrize("role", ROLES)
def test_ssh_05_a_secret_that_this_user_cannot_read(
    agents: Agents, tmp_path: Path, role: str
) -> None:
    """The same for a secret file."""
    binds = (passwd(tmp_path),)
    said = refused(agents, role, uid=MPI, binds=binds, tmpfs=("/tmp:mode=1777",))
    for part in ("/run/secrets/mpiboot", "0600", f"uid {MPI}", "fsGroup"):
        assert part in said


@pytest.mark.parametrize("kind", ["ed25519", "rsa-pem"])
def test_key_that_is_encrypted(agents: Agents, tmp_path: Path, kind: str) -> None:
    """A key with a passphrase is named, and why it cannot be used."""
    key = make_key(tmp_path / "keys", kind=kind, passphrase="a passphrase")
    env = {**NO_SECRET, "MPIBOOT_KEY_DIR": str(key.parent)}
    said = refused(agents, "worker", env=env)
    assert str(key) in said
    assert re.search("password|passphrase|encrypted", said)


def beside_another_sshd(directory: Path) -> tuple[str, ...]:
    """Start an agent where a stock sshd with a key of its own has port 22 already."""
    key = make_key(directory / "other")
    listens = "until grep -q :0016 /proc/net/tcp; do sleep 0.02; done"
    script = f'mkdir -p /run/sshd; /usr/sbin/sshd -h {key} -o UsePAM=no; {listens}; exec "$@"'
    return ("sh", "-c", script, "sh", *MPIBOOT)


def test_ssh_16_another_port_beside_another_sshd(agents: Agents, tmp_path: Path) -> None:
    """On a port that both roles are told, the job runs on our sshd, whoever has port 22."""
    port = ("--ssh-port", "2222")
    agents.worker("w1", *port, agent=beside_another_sshd(tmp_path))
    launcher = agents.launcher(*RING, hosts="w1:1", options=port)
    assert launcher.wait() == 0, launcher.log
    assert launcher.out == b"OK 0/1 w1\n"


def test_ssh_16_a_port_that_is_taken(agents: Agents, tmp_path: Path) -> None:
    """Left on port 22 the worker ends at once, and names the port and who holds it."""
    worker = agents.worker("w1", agent=beside_another_sshd(tmp_path))
    assert worker.wait(10) == CONFIGURATION
    last = worker.log.splitlines()[-1]
    assert re.search(
        r"port 22 on \S+ failed: Address already in use; port 22 is held by sshd", last
    )
