"""The doctor in real containers: it finds what fails, in the role's own words, and changes nothing."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mpiboot.local.cluster import Bind
from tests.helpers.agents import MPIBOOT, Agent, Agents, program
from tests.helpers.diagnoses import Told, read
from tests.helpers.eventually import eventually
from tests.helpers.keyfiles import make_key_directory

RING = program("ring.py")
FOREVER = ("sleep", "infinity")
USER, RANDOM, FOREIGN_GID = 1000, 123456, 1337
NO_SECRET = {"MPIBOOT_SECRET_FILE": None}
NONE = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all")
PLACES = "find /run /tmp /dev/shm /root -xdev -printf '%p %m %U %T@ %s\\n' | sort"
# A program that holds a port, and one that never answers DNS.
HOLDER = "import socket, time; s = socket.create_server(('', 2200)); time.sleep(600)"
DEAF = (
    "import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 53));"
    " time.sleep(600)"
)


def diagnosed(
    agents: Agents, *words: str, name: str = "patient", lead: Sequence[str] = (), **pod: Any
) -> Told:
    """Run the doctor as a pod's only program."""
    made = agents.mpiboot(name, ["doctor", "--json", *words], agent=(*lead, *MPIBOOT), **pod)
    code = made.wait()
    assert made.out, made.log
    return read(code, made.out)


def visited(agent: Agent, *words: str) -> Told:
    """Run the doctor beside what runs in a pod."""
    done = agent.pod.exec([*MPIBOOT, "doctor", "--json", *words])
    assert done.stdout, done.stderr
    return read(done.returncode, done.stdout)


def passwd(directory: Path, shell: str = "/bin/sh") -> Bind:
    """Make accounts for USER and for sshd's own separation; root's shell is given."""
    path = directory / "passwd"
    accounts = (
        f"root:x:0:0:root:/root:{shell}",
        f"mpi:x:{USER}:{USER}::/tmp:/bin/sh",
        "sshd:x:100:65534::/run/sshd:/usr/sbin/nologin",
    )
    path.write_text("\n".join((*accounts, "")))
    return Bind(source=str(path), target="/etc/passwd")


def assert_same_words(told: Told, topic: str, worker: Agent) -> None:
    """The worker ends at once, with the code and the words of the finding."""
    finding = told.only(topic, "will fail")
    begun = time.monotonic()
    assert worker.wait() == finding["exit_code"] == told.code
    assert time.monotonic() - begun < 10
    assert finding["text"] in worker.log
    assert finding["remedy"] in worker.log


def test_a_good_worker(agents: Agents) -> None:
    """All is ok or a warning, the code is 0, it is quick, and stderr is silent."""
    begun = time.monotonic()
    patient = agents.mpiboot("patient", ["doctor", "--json", "--role", "worker", "--login"])
    told = read(patient.wait(), patient.out)
    assert time.monotonic() - begun < 20
    assert (told.code, told.failing) == (0, set())
    assert "orted" in told.only("login", "ok")["text"]
    assert "orted" in told.only("MPI", "ok")["text"]
    assert patient.log == ""


def test_nothing_is_changed(agents: Agents) -> None:
    """Without /run/sshd, in a pod where nothing runs: files and directories are as before."""
    tmpfs = ("/run:mode=755", "/tmp:mode=1777")
    env = {"MPIBOOT_SECRET": "a secret of this test"}
    patient = agents.start("patient", FOREVER, env=env, tmpfs=tmpfs)

    def listed() -> str:
        done = patient.pod.exec(["sh", "-c", PLACES])
        return "\n".join(line for line in done.stdout.splitlines() if "__pycache__" not in line)

    before = listed()
    assert visited(patient, "--role", "worker").code == 0
    assert listed() == before
    assert visited(patient, "--role", "worker", "--login").code == 0
    assert visited(patient, "--hosts", "127.0.0.1:1", "--ssh-port", "2200", "--reach").code == 0
    kept = [line.split()[0] for line in listed().splitlines()]  # directories have other times
    assert kept == [line.split()[0] for line in before.splitlines()]


# Uid, group, mode, owner and group of the key, and the topic that fails (contract, 1.7).
KEYS = {
    "root, 0600": (None, None, 0o600, 0, 0, ""),
    "a user, 0644 of root": (USER, None, 0o644, 0, 0, ""),
    "a user, 0600 of root": (USER, None, 0o600, 0, 0, "keys"),
    "root, fsGroup": (None, None, 0o640, 0, FOREIGN_GID, ""),
    "root, 0644": (None, None, 0o644, 0, 0, ""),
    "a user, Trainer with fsGroup": (USER, USER, 0o640, 0, USER, ""),
    "a user, Trainer without fsGroup": (USER, None, 0o640, 0, 0, "keys"),
    "a uid without an account": (RANDOM, 0, 0o644, 0, 0, "user"),
}


@pytest.mark.parametrize("row", KEYS)
def test_every_row_of_key_modes(agents: Agents, tmp_path: Path, row: str) -> None:
    """What can work is said to, and does; what cannot fails in the worker's own words."""
    uid, gid, mode, owner, group, failing = KEYS[row]
    source = make_key_directory(tmp_path / "keys", "id_rsa", kind="ecdsa-521-pem")
    for path in source.iterdir():
        shutil.chown(path, owner, group)
        path.chmod(mode)
    keys = Bind(source=str(source), target="/run/keys", read_only=True)
    pod: dict[str, Any] = {
        "env": {**NO_SECRET, "MPIBOOT_KEY_DIR": "/run/keys"},
        "binds": (passwd(tmp_path), keys),
        "uid": uid,
        "gid": gid,
    }
    told = diagnosed(agents, "--role", "worker", *([] if failing else ["--login"]), **pod)
    assert told.failing == ({failing} if failing else set())
    worker = agents.worker("w1", **pod)
    if failing:
        assert_same_words(told, failing, worker)
    else:
        assert "ecdsa-sha2-nistp521" in told.only("keys", "ok")["text"]
        worker.until_ready()


def test_ssh_05_the_key_is_named_with_mode_owner_and_remedy(agents: Agents, tmp_path: Path) -> None:
    """Path, mode, owner and our own uid; fsGroup and defaultMode."""
    source = make_key_directory(tmp_path / "keys")
    (source / "id_ed25519").chmod(0o600)
    keys = Bind(source=str(source), target="/run/keys", read_only=True)
    told = diagnosed(
        agents, "--role", "worker", "--key-dir", "/run/keys", uid=USER,
        env=NO_SECRET, binds=(passwd(tmp_path), keys),
    )  # fmt: skip
    text = told.only("keys", "will fail")["text"]
    for word in ("/run/keys/id_ed25519", "0600", "owner 0:0", "uid 1000", "fsGroup", "defaultMode"):
        assert word in text


def test_root_without_capabilities(agents: Agents) -> None:
    """With all of them dropped the worker ends at once, in the words of the doctor."""
    told = diagnosed(agents, "--role", "worker", lead=NONE)
    assert "privileges" in told.failing
    assert told.only("privileges", "will fail")["remedy"]
    worker = agents.mpiboot("w1", ["worker"], agent=(*NONE, *MPIBOOT))
    assert_same_words(told, "privileges", worker)


@pytest.mark.parametrize("lacks", ["sys_chroot", "setuid", "setgid"])
def test_each_capability_of_a_login_counts(agents: Agents, lacks: str) -> None:
    """Without any one of the three no login of root's sshd works; the doctor names it."""
    lead = ("setpriv", "--bounding-set", f"-{lacks}", "--inh-caps", f"-{lacks}")
    told = diagnosed(agents, "--role", "worker", "--ssh-port", "2222", lead=lead)
    assert lacks.upper() in told.only("privileges", "will fail")["text"]


def test_a_user_needs_no_capability(agents: Agents, tmp_path: Path) -> None:
    """Restricted as Pod Security has it: a login works."""
    lead = ("setpriv", "--bounding-set", "-all", "--no-new-privs")
    binds = (passwd(tmp_path),)
    told = diagnosed(
        agents, "--role", "worker", "--login", lead=lead, uid=USER, env=_secret(), binds=binds
    )
    assert told.failing == set()


def test_an_sshd_with_a_file_capability(agents: Agents, tmp_path: Path) -> None:
    """Where it cannot be started a copy is, by the worker and by the doctor's login."""
    capable = tmp_path / "sshd"
    shutil.copy("/usr/sbin/sshd", capable)
    subprocess.run(["setcap", "cap_net_bind_service+eip", str(capable)], check=True)
    lead = ("setpriv", "--bounding-set", "-all", "--no-new-privs")
    pod: dict[str, Any] = {
        "uid": USER,
        "env": {**_secret(), "MPIBOOT_SSHD": "/run/sshd-capable"},
        "binds": (passwd(tmp_path), Bind(source=str(capable), target="/run/sshd-capable")),
    }
    told = diagnosed(agents, "--role", "worker", "--login", lead=lead, **pod)
    assert told.failing == set()
    assert "NET_BIND_SERVICE" in told.only("privileges", "warning")["text"]
    worker = agents.mpiboot("w1", ["worker"], agent=(*lead, *MPIBOOT), **pod)
    worker.until_ready()
    assert "a copy of it is run" in worker.log


def _secret() -> dict[str, str | None]:
    """Give the secret as a variable: the file is root's."""
    return {**NO_SECRET, "MPIBOOT_SECRET": "a secret of this test"}


def test_no_place_to_write(agents: Agents) -> None:
    """Nothing but read-only places: the three that were tried are named, as the worker names them."""
    tmpfs = ("/run:ro", "/tmp:ro", "/dev/shm:ro")
    pod: dict[str, Any] = {"env": {**_secret(), "TMPDIR": "/tmp"}, "tmpfs": tmpfs}
    pod["env"]["MPIBOOT_STATUS_FILE"] = None
    told = diagnosed(agents, "--role", "worker", **pod)
    assert {"places", "sshd"} <= told.failing
    assert "/tmp cannot be written" in told.only("places", "warning")["text"]
    assert "tmpfs at /run" in told.only("sshd", "will fail")["remedy"]
    assert_same_words(told, "places", agents.worker("w1", **pod))


def test_ssh_01_run_is_read_only(agents: Agents) -> None:
    """/run/sshd cannot be made: the worker's own words."""
    pod: dict[str, Any] = {"env": _secret(), "tmpfs": ("/run:ro",)}
    pod["env"]["MPIBOOT_STATUS_FILE"] = None
    told = diagnosed(agents, "--role", "worker", **pod)
    assert told.failing == {"sshd"}
    assert_same_words(told, "sshd", agents.worker("w1", **pod))


def test_a_shell_that_starts_nothing(agents: Agents, tmp_path: Path) -> None:
    """The account's shell is named; the login proves it, with 242."""
    binds = (passwd(tmp_path, "/usr/sbin/nologin"),)
    told = diagnosed(agents, "--role", "worker", "--login", binds=binds)
    assert told.failing == {"user", "login"}
    assert told.code == 242
    assert "/usr/sbin/nologin" in told.only("user", "will fail")["text"]


def test_ssh_16_who_holds_the_port(agents: Agents) -> None:
    """Another program's port fails with its name; a port of our own agent is as it should be."""
    other = agents.start(
        "other", ("/usr/bin/python3", "-c", HOLDER), env={"MPIBOOT_ROLE": "worker"}
    )
    _until_listening(other, 2200)
    told = visited(other, "--ssh-port", "2200", "--secret", "a secret of this test")
    assert told.failing == {"ports"}
    assert "held by python3 (process 1)" in told.only("ports", "will fail")["text"]
    worker = agents.worker("w1")
    worker.until_ready()
    told = visited(worker, "--role", "worker")
    assert told.failing == set()
    assert "an mpiboot worker runs here" in told.of("ports")[0]["text"]


def _until_listening(agent: Agent, port: int) -> None:
    def check() -> None:
        tables = [(agent.pod.root / f"proc/1/net/{name}").read_text() for name in ("tcp", "tcp6")]
        assert f":{port:04X} " in "".join(tables)

    eventually(check, 10)


def test_no_mpi_and_no_ssh(agents: Agents) -> None:
    """What has to be installed is named, for both roles."""
    env = {"PATH": "/nowhere"}
    told = diagnosed(agents, "--role", "worker", env=env)
    assert told.failing == {"MPI", "ssh"}
    assert "openmpi-bin" in told.only("MPI", "will fail")["remedy"]
    told = diagnosed(agents, "--hosts", "127.0.0.1", env=env, name="other")
    assert told.failing == {"MPI", "ssh"}
    assert "no mpirun on PATH" in told.only("MPI", "will fail")["text"]


def test_name_04_a_hostname_that_this_mpi_cannot_bear(agents: Agents) -> None:
    """An underscore in the launcher's own name, with Open MPI 4, in the launcher's own words."""
    told = diagnosed(agents, "--hosts", "127.0.0.1:1", name="my_app_launcher")
    finding = told.only("hostname", "will fail")
    assert "my_app_launcher" in finding["text"]
    assert "--hostname" in finding["remedy"]


def test_name_08_a_worker_on_loopback(agents: Agents) -> None:
    """A worker's name that leads to this container itself is no worker."""
    told = diagnosed(agents, "--hosts", "w1:1", hosts_lines=("127.0.1.1 w1",))
    assert told.code == 240
    assert "127.0.1.1" in told.only("names", "will fail")["text"]


def test_a_resolver_that_never_answers(agents: Agents, tmp_path: Path) -> None:
    """It costs little more than its own bound, however many names there are, and is a warning."""
    deaf = agents.start("deaf", ("/usr/bin/python3", "-c", DEAF))
    resolv = tmp_path / "resolv.conf"
    resolv.write_text(f"nameserver {deaf.pod.address}\n")
    binds = (Bind(source=str(resolv), target="/etc/resolv.conf"),)
    names = ",".join(f"nobody{number}:1" for number in range(40))
    begun = time.monotonic()
    told = diagnosed(agents, "--hosts", names, binds=binds)
    assert time.monotonic() - begun < 10
    assert "within 1.5 s" in told.only("names", "warning")["text"]
    assert told.code == 0


def test_res_02_more_ranks_than_slots(agents: Agents) -> None:
    """The launcher's own table, before anybody is there."""
    told = diagnosed(agents, "--hosts", "a:1,b:1", "-np", "4")
    assert told.failing == {"workers"}
    assert "4 ranks are wanted" in told.only("workers", "will fail")["text"]


def test_reach_names_what_is_wrong_with_each_worker(agents: Agents) -> None:
    """One is good, one has other keys, one is not there; the good one waits on for its job.

    A worker with a retry grace of 0 would leave after any login that was not the job's.
    """
    good = agents.worker("w1", "--retry-grace", "0")
    strange = agents.worker(
        "w2", env={**NO_SECRET, "MPIBOOT_SECRET": "another secret of this test"}
    )
    good.until_ready()
    strange.until_ready()
    told = diagnosed(agents, "--hosts", "w1:1,w2:1,nobody:1", "--reach")
    assert told.code == 240
    assert told.only("reach", "ok")["text"].startswith("w1: its sshd takes the job's key")
    assert told.only("reach", "will fail")["text"].startswith("w2: wrong host key: it shows ssh-")
    assert told.only("reach", "warning")["text"].startswith("nobody: name does not resolve")
    launcher = agents.launcher(*RING, hosts="w1:1")
    assert launcher.wait() == 0
    assert launcher.out == b"OK 0/1 w1\n"


def test_settings_that_cannot_be_read(agents: Agents) -> None:
    """All problems are findings, and the code is 78; one of the command line is a usage error."""
    told = diagnosed(agents, env={"MPIBOOT_NP": "x", "MPIBOOT_STRIKES": "-1"})
    assert told.code == 78
    assert len(told.of("settings", "will fail")) == 2
    assert agents.mpiboot("other", ["doctor", "--np", "x"]).wait() == 64


def test_the_text_is_for_people(agents: Agents) -> None:
    """A line for each finding, remedies below, and the sum at the end."""
    patient = agents.mpiboot("patient", ["doctor", "--role", "worker"], env=NO_SECRET)
    assert patient.wait() == 78
    lines = patient.out.decode().splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("will fail  keys"))
    assert "mpiboot keygen" in lines[at + 1]
    assert lines[-1].startswith("worker: 1 will fail, ")
    assert lines[-1].endswith("exit 78")
