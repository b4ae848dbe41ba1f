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
# What Pod Security calls restricted. Only root can lower the bounding set: the pod starts as root, and
# setpriv makes the user of it, who dies with the pod's keeper as every process 1 of a pod does.
RESTRICTED = (
    *NONE, "--no-new-privs", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--pdeathsig", "KILL",
)  # fmt: skip
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
        ssh = told.only("ssh", "warning" if failing == "user" else "ok")
        assert (f"uid {RANDOM} has no account" in ssh["text"]) == (failing == "user")
        assert "version" not in ssh["text"]
        assert_same_words(told, failing, worker)
    else:
        assert "ecdsa-sha2-nistp521" in told.only("keys", "ok")["text"]
        worker.until_ready()


def test_ssh_05_the_key_is_named_with_mode_owner_and_remedy(agents: Agents, tmp_path: Path) -> None:
    """Path, mode, owner and our own uid; fsGroup and defaultMode; the platform whose Secret it is."""
    source = make_key_directory(tmp_path / "keys")
    (source / "id_ed25519").chmod(0o600)
    keys = Bind(source=str(source), target="/run/keys", read_only=True)
    told = diagnosed(
        agents, "--role", "worker", "--key-dir", "/run/keys", uid=USER,
        env={**NO_SECRET, "K_MPI_JOB_ROLE": "worker"}, binds=(passwd(tmp_path), keys),
    )  # fmt: skip
    assert told.only("platform", "ok")["text"] == "MPI Operator: K_MPI_JOB_ROLE says so"
    unread = told.only("files", "warning")["text"]
    assert unread == f"/run/keys/id_ed25519 0600 0:0 cannot be read by uid {USER}"
    text = told.only("keys", "will fail")["text"]
    for word in ("/run/keys/id_ed25519", "0600", "owner 0:0", "uid 1000", "fsGroup", "defaultMode"):
        assert word in text


def test_root_without_capabilities(agents: Agents) -> None:
    """With all of them dropped the worker ends at once, in the words of the doctor."""
    told = diagnosed(agents, "--role", "worker", lead=NONE)
    assert "privileges" in told.failing
    assert told.only("privileges", "will fail")["remedy"]
    worker = agents.worker("w1", agent=(*NONE, *MPIBOOT))
    assert_same_words(told, "privileges", worker)


@pytest.mark.parametrize("lacks", ["sys_chroot", "setuid", "setgid"])
def test_each_capability_of_a_login_counts(agents: Agents, lacks: str) -> None:
    """Without any one of the three no login of root's sshd works; the doctor names it."""
    lead = ("setpriv", "--bounding-set", f"-{lacks}", "--inh-caps", f"-{lacks}")
    told = diagnosed(agents, "--role", "worker", "--ssh-port", "2222", lead=lead)
    assert lacks.upper() in told.only("privileges", "will fail")["text"]


def test_a_user_needs_no_capability(agents: Agents, tmp_path: Path) -> None:
    """Restricted as Pod Security has it: a login works."""
    told = diagnosed(
        agents,
        "--role",
        "worker",
        "--login",
        lead=RESTRICTED,
        env=_users(),
        binds=(passwd(tmp_path),),
    )
    assert told.failing == set()
    assert "no new privileges" in told.only("privileges", "ok")["text"]


def test_an_sshd_with_a_file_capability(agents: Agents, tmp_path: Path) -> None:
    """Where it cannot be started a copy is, by the worker and by the doctor's login."""
    capable = tmp_path / "sshd"
    shutil.copy("/usr/sbin/sshd", capable)
    subprocess.run(["setcap", "cap_net_bind_service+eip", str(capable)], check=True)
    pod: dict[str, Any] = {
        "env": {**_users(), "MPIBOOT_SSHD": "/run/sshd-capable"},
        "binds": (passwd(tmp_path), Bind(source=str(capable), target="/run/sshd-capable")),
    }
    told = diagnosed(agents, "--role", "worker", "--login", lead=RESTRICTED, **pod)
    assert told.failing == set()
    assert "NET_BIND_SERVICE" in told.only("privileges", "warning")["text"]
    worker = agents.worker("w1", agent=(*RESTRICTED, *MPIBOOT), **pod)
    worker.until_ready()
    assert "a copy of it is run" in worker.log


def _secret() -> dict[str, str | None]:
    """Give the secret as a variable: the file is root's."""
    return {**NO_SECRET, "MPIBOOT_SECRET": "a secret of this test"}


def _users() -> dict[str, str | None]:
    """Give what a pod has that engines start as a user; the file for the status is root's, too."""
    return {**_secret(), "HOME": "/", "MPIBOOT_STATUS_FILE": None}


def sealed(*places: str) -> tuple[str, ...]:
    """Lead a program by what makes places read-only, once what lies below them is in its place."""
    remounts = " && ".join(f"mount -o remount,bind,ro {place}" for place in places)
    return ("/bin/sh", "-c", f'{remounts} && exec "$@"', "sealed")


def test_no_place_to_write(agents: Agents) -> None:
    """Nothing but read-only places: the three that were tried are named, as the worker names them."""
    lead = sealed("/run", "/tmp", "/dev/shm")
    env = {**_secret(), "MPIBOOT_STATUS_FILE": None, "TMPDIR": "/tmp"}
    pod: dict[str, Any] = {"env": env, "tmpfs": ("/tmp:mode=1777",)}
    told = diagnosed(agents, "--role", "worker", lead=lead, **pod)
    assert {"places", "sshd"} <= told.failing
    assert "/tmp cannot be written" in told.only("places", "warning")["text"]
    assert "tmpfs at /run" in told.only("sshd", "will fail")["remedy"]
    assert_same_words(told, "places", agents.worker("w1", agent=(*lead, *MPIBOOT), **pod))


def test_ssh_01_run_is_read_only(agents: Agents) -> None:
    """/run/sshd cannot be made: the worker's own words."""
    lead, env = sealed("/run"), {**_secret(), "MPIBOOT_STATUS_FILE": None}
    told = diagnosed(agents, "--role", "worker", lead=lead, env=env)
    assert told.failing == {"sshd"}
    assert_same_words(told, "sshd", agents.worker("w1", agent=(*lead, *MPIBOOT), env=env))


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


def kubexec(directory: Path) -> str:
    """Make a program that stands in for ssh: one pod is there, the others are not."""
    agent = directory / "kubexec.sh"
    agent.write_text(
        '#!/bin/sh\n[ "$1" = pi-worker-0 ] || { echo "pods $1 not found" >&2; exit 1; }\n'
    )
    agent.chmod(0o555)
    return str(agent)


def test_a_worker_that_nobody_logs_in_to(agents: Agents, tmp_path: Path) -> None:
    """Behind a program in place of ssh nothing of SSH is needed, and so it is: the worker is ready.

    No keys, no account, and a port of sshd that is another program's.
    """
    options = ("--rsh-agent", kubexec(tmp_path), "--ssh-port", "22")
    pod: dict[str, Any] = {"env": NO_SECRET, "uid": RANDOM, "gid": 0}
    told = diagnosed(agents, "--role", "worker", "--login", *options, **pod)
    assert told.failing == set()
    assert not any(map(told.of, ("privileges", "sshd", "keys")))
    assert "not looked at" in told.only("ssh", "ok")["text"]
    assert "not tried" in told.only("login", "ok")["text"]
    assert [one["text"] for one in told.of("ports")] == ["port 9650 for probes and metrics is free"]
    worker = agents.worker("w1", *options, **pod)
    eventually(lambda: _assert_probed(worker), 15)


def _assert_probed(worker: Agent) -> None:
    assert worker.pod.exec([*MPIBOOT, "probe"]).returncode == 0


def test_a_launcher_that_reaches_workers_without_ssh(agents: Agents, tmp_path: Path) -> None:
    """Names of pods need not resolve; each is asked through the program, and so it is by the launcher."""
    options = ("--rsh-agent", kubexec(tmp_path), "--hosts", "pi-worker-0:1,pi-worker-1:1")
    told = diagnosed(agents, *options, "--reach", env=NO_SECRET)
    assert told.failing == set()
    assert not told.of("keys")
    assert len(told.of("names")) == 1
    assert told.only("reach", "ok")["text"].startswith("pi-worker-0: a command can be run there")
    assert "pods pi-worker-1 not found" in told.only("reach", "warning")["text"]
    missing = ("--rsh-agent", "/nowhere/kubexec.sh", *options[2:])
    told = diagnosed(agents, *missing, "--reach", env=NO_SECRET, name="other")
    assert told.failing == {"MPI"}
    assert "cannot be executed" in told.only("MPI", "will fail")["text"]


def test_settings_that_cannot_be_read(agents: Agents) -> None:
    """All problems are findings, and the code is 78; one of the command line is a usage error."""
    told = diagnosed(agents, env={"MPIBOOT_NP": "x", "MPIBOOT_STRIKES": "-1"})
    assert told.code == 78
    assert len(told.of("settings", "will fail")) == 2
    assert agents.mpiboot("other", ["doctor", "--np", "x"]).wait() == 64
    worker = agents.mpiboot("third", ["doctor", "--role", "worker", "--reach"])
    assert worker.wait() == 64
    assert "--role launcher" in worker.log


def test_the_text_is_for_people(agents: Agents) -> None:
    """A line for each finding, remedies below, and the sum at the end."""
    patient = agents.mpiboot("patient", ["doctor", "--role", "worker"], env=NO_SECRET)
    assert patient.wait() == 78
    lines = patient.out.decode().splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("will fail  keys"))
    assert "mpiboot keygen" in lines[at + 1]
    assert lines[-1].startswith("worker: 1 will fail, ")
    assert lines[-1].endswith("exit 78")
