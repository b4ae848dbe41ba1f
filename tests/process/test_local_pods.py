"""Pods on this machine: real namespaces, real programs, nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mpiboot.errors import CannotRunError, ConfigError, LaunchFailedError, NotFoundError
from mpiboot.local.cluster import Bind, Cluster, Pod, PodSpec
from mpiboot.local.hub import require_means
from tests.helpers.eventually import eventually

pytest_plugins = ("tests.helpers.pods",)
needs_root = pytest.mark.usefixtures("root")

ROOT = Path(__file__).parents[2]
PYTHON = (sys.executable, "-I", "-S", "-u", "-c")
FOREVER = ("sleep", "infinity")
# Answers each line of each client with the hostname; serves all clients at once.
SERVER = """
import socket, threading
def talk(connection):
    for line in connection.makefile("r"):
        connection.sendall((socket.gethostname() + "\\n").encode())
listener = socket.create_server(("", 4000), backlog=64)
while True:
    threading.Thread(target=talk, args=listener.accept()[:1], daemon=True).start()
"""
# Asks the named server once for every line of its stdin.
CLIENT = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 4000), 1)
connection.settimeout(None)
answers = connection.makefile("r")
for line in sys.stdin:
    connection.sendall(b"?\\n")
    sys.stdout.write(answers.readline())
"""


def server(name: str, *, listed: bool = True) -> PodSpec:
    return PodSpec(name=name, argv=(*PYTHON, SERVER), listed=listed)


@contextlib.contextmanager
def running(argv: Sequence[str], *, stderr: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """A process that is killed when the test leaves it, so that a failed assertion does not wait."""
    with subprocess.Popen(
        argv, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=stderr
    ) as popen:
        try:
            yield popen
        finally:
            popen.kill()


def ask(pod: Pod, name: str) -> str:
    ask_once = CLIENT.replace("sys.stdin", "'?'")
    done = pod.exec([*PYTHON, ask_once, name], timeout_s=10)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# 32 and 33 are libc's own: no program can set them, and whoever is started by its posix_spawn, as
# by make, has them ignored.
LIBC_SIGNALS = 3 << 31


def signal_masks(pod: Pod) -> dict[str, int]:
    lines = Path(f"/proc/{pod.pid}/status").read_text().splitlines()
    pairs = (line.split(":\t") for line in lines if line.startswith("Sig"))
    return {name: int(value, 16) & ~LIBC_SIGNALS for name, value in pairs if name != "SigQ"}


def host_view() -> dict[str, list[str]]:
    """What a pod must not touch; Docker, which others use at the same time, is left out."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    mounts = Path("/proc/self/mountinfo").read_text()
    netns = Path("/run/netns")
    return {
        "links": [
            name
            for name in (line.split(": ")[1] for line in links.splitlines())
            if not name.startswith(("veth", "docker", "br-"))
        ],
        "mounts": [line for line in mounts.splitlines() if "docker" not in line],
        "netns": sorted(path.name for path in netns.iterdir()) if netns.exists() else [],
        "dev": sorted(path.name for path in Path("/dev").iterdir()),
        "hosts": [Path("/etc/hosts").read_text(), os.uname().nodename],
    }


def test_sixteen_pods(cluster: Cluster) -> None:
    """16 pods are up in seconds, each reaches each other by name, with its own name and PID 1."""
    start = time.monotonic()
    pods = cluster.start_all([server(f"w-{number}") for number in range(16)])
    took_s = time.monotonic() - start
    assert took_s < 5
    names = [pod.name for pod in pods]
    for pod in pods:
        assert pod.exec(["hostname"]).stdout.strip() == pod.name
        assert pod.exec(["cat", "/proc/1/cmdline"]).stdout.startswith(sys.executable)
        assert [process.pid for process in pod.processes()] == [1]
    for name in names:
        assert eventually(lambda name=name: ask(pods[0], name)) == name  # type: ignore[misc]
    assert ask(pods[15], "w-0") == "w-0"
    assert len({pod.address for pod in pods}) == 16


@needs_root
def test_host_is_untouched() -> None:
    """Interfaces, named network namespaces, mounts, /dev, names of the machine stay as they are."""
    before = host_view()
    with Cluster() as cluster:
        pod = cluster.start(PodSpec(name="a", argv=FOREVER, tmpfs=("/mnt:size=1m",)))
        pod.exec(["sh", "-c", "echo x >/dev/termination-log; echo x >/run/x; echo x >/mnt/x"])
        assert (pod.root / "dev/termination-log").read_text() == "x\n"
        assert host_view() == before
        assert not Path("/run/x").exists()
    assert host_view() == before
    assert not cluster.directory.exists()


def test_a_pod_looks_like_a_container(cluster: Cluster) -> None:
    """Private /run, /dev/shm, /proc, /etc/hosts; empty resolv.conf; clean environment; own session."""
    (Path("/dev/shm") / "of-the-host").touch()
    try:
        pod = cluster.start(PodSpec(name="a", argv=FOREVER, env={"X": "1"}))
        assert pod.exec(["ls", "/dev/shm", "/run", "/dev/pts"]).stdout.split() == [
            "/dev/pts:", "ptmx", "/dev/shm:", "/run:",
        ]  # fmt: skip
    finally:
        (Path("/dev/shm") / "of-the-host").unlink()
    environment = (pod.root / "proc/1/environ").read_bytes().decode().split("\0")[:-1]
    assert sorted(line.partition("=")[0] for line in environment) == ["HOME", "LANG", "PATH", "X"]
    assert (pod.root / "etc/resolv.conf").read_text() == ""
    assert f"{pod.address} a\n" in (pod.root / "etc/hosts").read_text()
    assert (
        pod.exec(["sh", "-c", "echo ok >/dev/null && head -c1 /dev/zero | wc -c"]).stdout == "1\n"
    )
    assert pod.exec(["pwd"]).stdout.strip() == str(Path.cwd())
    fields = Path(f"/proc/{pod.pid}/stat").read_text().rpartition(") ")[2].split()
    assert fields[2:4] == [str(pod.pid), str(pod.pid)]  # group and session


def test_signal_state_is_clean(cluster: Cluster) -> None:
    """PID 1 starts with default dispositions and an empty mask, whatever the caller has."""
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        pod = cluster.start(PodSpec(name="a", argv=FOREVER))
        held = cluster.start(PodSpec(name="b", argv=FOREVER, blocked=(signal.SIGTERM,)))
    finally:
        signal.signal(signal.SIGHUP, former)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    assert signal_masks(pod) == dict.fromkeys(["SigPnd", "SigBlk", "SigIgn", "SigCgt"], 0)
    assert signal_masks(held)["SigBlk"] == 1 << signal.SIGTERM - 1


def test_unhandled_signals_are_ignored(cluster: Cluster) -> None:
    """As for any container's PID 1, a signal without a handler does nothing, but KILL kills."""
    pod = cluster.start(PodSpec(name="a", argv=FOREVER))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        pod.send(number)
    assert pod.exec(["true"]).returncode == 0
    assert pod.poll() is None
    pod.kill()
    assert pod.wait(5) == 137
    assert pod.processes() == []
    pod.send(signal.SIGTERM)  # nobody there: nothing happens


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import sys; sys.exit(0)", 0),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit(255)", 255),
        ("import ctypes; ctypes.string_at(0)", 128 + signal.SIGSEGV),
    ],
)
def test_exit_code_passes_through(cluster: Cluster, program: str, code: int) -> None:
    """The pod's code is PID 1's, 128 + n for death by signal n."""
    with Path(os.devnull).open("w") as null:
        pod = cluster.start(PodSpec(name="a", argv=(*PYTHON, program)), stderr=null)
        assert pod.wait(10) == code
    assert pod.poll() == code


def test_signals_reach_pid_1(cluster: Cluster) -> None:
    """A handler of PID 1 runs, and its streams are the caller's."""
    program = """
    import os, signal, sys
    def tell(number, frame):
        print(signal.Signals(number).name)
        if number == signal.SIGTERM:
            os._exit(3)
    for number in (signal.SIGUSR1, signal.SIGTERM):
        signal.signal(number, tell)
    print("up")
    while True:
        signal.pause()
    """
    read, write = os.pipe()
    with os.fdopen(read) as lines:
        pod = cluster.start(
            PodSpec(name="a", argv=(*PYTHON, textwrap.dedent(program))), stdout=write
        )
        os.close(write)
        assert lines.readline() == "up\n"
        pod.send(signal.SIGUSR1)
        assert lines.readline() == "SIGUSR1\n"
        pod.send(signal.SIGTERM)
        assert lines.readline() == "SIGTERM\n"
        assert lines.readline() == ""  # nobody else holds the pipe
    assert pod.wait(5) == 3


def test_the_end_of_pid_1_ends_all(cluster: Cluster) -> None:
    """Processes are listed with their state, zombies too, and none survives PID 1."""
    program = (
        "import os, time; os.fork() or os._exit(0); os.fork() or time.sleep(999); time.sleep(999)"
    )
    pod = cluster.start(PodSpec(name="a", argv=(*PYTHON, program)))

    def states() -> None:
        assert sorted(process.state for process in pod.processes()) == ["S", "S", "Z"]

    eventually(states)
    extra = pod.popen_in(FOREVER)
    pod.kill()
    assert pod.wait(5) == 137
    assert extra.wait(5) != 0
    assert pod.processes() == []


def test_programs_that_cannot_run(cluster: Cluster, tmp_path: Path) -> None:
    """A missing program, one without permission, a bad mount: an error that names it."""
    with pytest.raises(NotFoundError, match="no-such-program was not found"):
        cluster.start(PodSpec(name="a", argv=("no-such-program",)))
    plain = tmp_path / "plain"
    plain.touch()
    with pytest.raises(CannotRunError, match="Permission denied"):
        cluster.start(PodSpec(name="a", argv=(str(plain),)))
    bind = Bind(source=str(plain), target="/etc/no-such-file")
    with pytest.raises(LaunchFailedError, match="/etc/no-such-file does not exist"):
        cluster.start(PodSpec(name="a", argv=FOREVER, binds=(bind,)))
    bind = Bind(source="/no/source", target="/run/x")
    with pytest.raises(LaunchFailedError, match="bind /no/source: No such file"):
        cluster.start(PodSpec(name="a", argv=FOREVER, binds=(bind,)))
    cluster.start(PodSpec(name="a", argv=FOREVER))
    with pytest.raises(ConfigError, match="pod a runs already"):
        cluster.start(PodSpec(name="a", argv=FOREVER))
    for name in ("", "a b", "../x", "x" * 65):
        with pytest.raises(ConfigError, match="cannot be a pod's name"):
            PodSpec(name=name, argv=FOREVER)


def test_extras(cluster: Cluster, tmp_path: Path) -> None:
    """Binds, tmpfs with options, user, working directory, aliases, own lines in /etc/hosts."""
    tmp_path.chmod(0o755)
    (tmp_path / "file").write_text("text\n")
    pod = cluster.start(
        PodSpec(
            name="a_1",
            argv=FOREVER,
            cwd="/tmp",
            binds=(
                Bind(source=str(tmp_path), target="/mnt", read_only=True),
                Bind(source=str(tmp_path / "file"), target="/run/deep/file"),
            ),
            tmpfs=("/run/sshd:mode=700", "/dev/shm:size=64k"),
            aliases=("a.some.svc", "crowd"),
            hosts_lines=("10.9.9.9 far",),
            uid=12345,
            gid=0,
        )
    )
    other = cluster.start(PodSpec(name="b", argv=FOREVER, aliases=("crowd",)))
    assert pod.exec(["id"]).stdout == "uid=12345 gid=0(root) groups=0(root)\n"
    assert "Uid:\t12345\t12345" in Path(f"/proc/{pod.pid}/status").read_text()
    assert pod.exec(["cat", "/mnt/file", "/run/deep/file"]).stdout == "text\ntext\n"
    assert not os.access(pod.root / "mnt", os.W_OK)
    assert pod.exec(["pwd"]).stdout == "/tmp\n"
    assert stat.S_IMODE((pod.root / "run/sshd").stat().st_mode) == 0o700
    assert os.statvfs(pod.root / "dev/shm").f_blocks * os.statvfs("/").f_frsize <= 65536
    assert pod.exec(["getent", "hosts", "far"]).returncode == 0
    assert other.exec(["getent", "hosts", "far"]).returncode == 2
    assert other.exec(["getent", "hosts", "a.some.svc"]).stdout.split()[0] == pod.address
    crowd = other.exec(["getent", "ahostsv4", "crowd"]).stdout
    assert {line.split()[0] for line in crowd.splitlines()} == {pod.address, other.address}


def test_late_listing(cluster: Cluster) -> None:
    """A name is unknown to the others until it is listed, and again after it was withdrawn."""
    watcher = cluster.start(PodSpec(name="watcher", argv=FOREVER))
    late = cluster.start(server("late", listed=False))

    def known(pod: Pod) -> bool:
        return pod.exec(["getent", "hosts", "late"]).returncode == 0

    assert known(late)
    assert not known(watcher)
    cluster.list_pod("late")
    assert known(watcher)
    assert eventually(lambda: ask(watcher, "late")) == "late"
    cluster.unlist_pod("late")
    assert not known(watcher)
    assert known(late)


def test_a_pod_comes_back_under_its_name(cluster: Cluster) -> None:
    """After its end a name can be used again, at a new address, which the others then see."""
    watcher = cluster.start(PodSpec(name="watcher", argv=FOREVER))
    first = cluster.start(server("w"))
    first.kill()
    first.wait(5)
    second = cluster.start(server("w"))
    assert second.address != first.address
    assert watcher.exec(["getent", "hosts", "w"]).stdout.split()[0] == second.address
    assert eventually(lambda: ask(watcher, "w")) == "w"


def test_network_cut(cluster: Cluster) -> None:
    """A cut loses packets silently; what was connected goes on after the pod has joined again."""
    here, there = cluster.start_all([server("here"), server("there")])
    assert eventually(lambda: ask(here, "there")) == "there"
    pipe = subprocess.PIPE
    with here.popen_in([*PYTHON, CLIENT, "there"], stdin=pipe, stdout=pipe) as client:
        assert client.stdin
        assert client.stdout
        client.stdin.write(b"\n")
        client.stdin.flush()
        assert client.stdout.readline() == b"there\n"
        there.cut()
        client.stdin.write(b"\n")
        client.stdin.flush()
        assert select.select([client.stdout], [], [], 0.5)[0] == []
        with pytest.raises(AssertionError, match=r"timed out|[Tt]imeout|No route"):
            ask(here, "there")
        assert there.exec(["true"]).returncode == 0  # the pod itself is well
        there.join()
        assert client.stdout.readline() == b"there\n"
        client.stdin.close()
    assert eventually(lambda: ask(here, "there")) == "there"


def test_exec_ends_at_its_timeout(cluster: Cluster) -> None:
    """A program that hangs is killed inside the pod too."""
    pod = cluster.start(PodSpec(name="a", argv=FOREVER))
    with pytest.raises(subprocess.TimeoutExpired):
        pod.exec(FOREVER, timeout_s=0.3)

    def alone() -> None:
        assert [process.pid for process in pod.processes()] == [1]

    eventually(alone)


OWNER = """
import os, signal, sys
from pathlib import Path
from mpiboot.local.cluster import Cluster, PodSpec
with Cluster(root=Path(sys.argv[1])) as cluster:
    pods = cluster.start_all([PodSpec(name=f"w{n}", argv=("sleep", "infinity"), uid=u)
                              for n, u in enumerate([None, 12345, None])])
    inside = pods[0].popen_in(["sleep", "infinity"])
    spaces = [os.stat(f"/proc/{pod.pid}/ns/net").st_ino for pod in pods]
    print(*(pod.pid for pod in pods), *(pod.popen.pid for pod in pods), inside.pid, flush=True)
    print(*spaces, cluster.directory, flush=True)
    if sys.argv[2] == "pause":
        signal.pause()
"""


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    return False


def spaces_in_use() -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found.add((entry / "ns/net").stat().st_ino)
    return found


@needs_root
def test_killed_owner_leaves_nothing(tmp_path: Path) -> None:
    """SIGKILL to the owner ends every pod at once; the next start removes the directory."""
    argv = [sys.executable, "-c", OWNER, str(tmp_path), "pause"]
    with running(argv) as owner:
        assert owner.stdout
        pids = [int(word) for word in owner.stdout.readline().split()]
        *spaces, directory = owner.stdout.readline().split()

        def all_alive() -> None:
            assert [pid for pid in pids if not alive(pid)] == []

        eventually(all_alive)  # an exec shows an empty command line for a moment
        with Cluster(root=tmp_path):
            assert Path(directory).exists()  # it has a living owner
        owner.kill()

    def gone() -> None:
        assert [pid for pid in pids if alive(pid)] == []
        assert spaces_in_use() & {int(space) for space in spaces} == set()

    eventually(gone, timeout=5)
    assert Path(directory).exists()
    with Cluster(root=tmp_path) as cluster:
        assert [path.name for path in tmp_path.iterdir()] == [cluster.directory.name]
    assert list(tmp_path.iterdir()) == []


def test_killed_keeper_takes_its_pod_along(cluster: Cluster) -> None:
    """The process outside cannot die and leave its pod running, as root or as a user."""
    for uid in (None, 12345):
        pod = cluster.start(PodSpec(name=f"a{uid}", argv=FOREVER, uid=uid))
        pod.popen.kill()

        def gone(pod: Pod = pod) -> None:
            # This machine's init reaps what the keeper left, in its own time.
            assert [process for process in pod.processes() if process.state != "Z"] == []

        eventually(gone)
        assert pod.wait(5) == 137


@needs_root
def test_pods_outlive_the_thread_that_made_them() -> None:
    """A pod dies with the owner's process, not with one of its threads."""
    program = "import threading; from mpiboot.local.cluster import *\n" + textwrap.dedent("""
    with Cluster() as cluster:
        spec = PodSpec(name="a", argv=("sleep", "infinity"))
        thread = threading.Thread(target=cluster.start, args=(spec,))
        thread.start()
        thread.join()
        print(cluster.pods["a"].exec(["hostname"]).stdout)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "a"


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from mpiboot.local.cluster import Cluster
from mpiboot.errors import MpibootError
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
try:
    Cluster(root=Path(sys.argv[1])).__enter__()
except MpibootError as fault:
    print(fault)
    sys.exit(fault.code)
"""


@needs_root
def test_refusal_without_root(tmp_path: Path) -> None:
    """Without the capabilities: one line, with what is missing and what to do, and nothing made."""
    tmp_path.chmod(0o777)
    argv = [sys.executable, "-c", UNPRIVILEGED, str(tmp_path)]
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 78
    assert done.stdout == (
        "`mpiboot local` makes namespaces, which needs root; missing: "
        "CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_MKNOD; run it as root "
        "(in a container: a privileged one), or use docker compose instead\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_refusal_names_each_missing_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A root without SYS_ADMIN (a plain container) and a machine without `ip` are told apart."""
    with pytest.raises(ConfigError, match=r"missing: CAP_SYS_ADMIN;"):
        require_means("CapEff:\t000001ffffdfffff\n")
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == "ip" else name)
    with pytest.raises(ConfigError, match=r"needs ip; apt-get install iproute2"):
        require_means("CapEff:\t000001ffffffffff\n")


@pytest.mark.skipif(not shutil.which("mpirun"), reason="Open MPI is not installed")
def test_real_sshd_and_mpirun(cluster: Cluster, tmp_path: Path) -> None:
    """Open MPI's mpirun in one pod runs ranks in two others through a bare sshd."""
    for key in ("host", "user"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / key)]
        subprocess.run(make, check=True)
    options = {
        "AuthorizedKeysFile": tmp_path / "user.pub",
        "StrictModes": "no",
        "UsePAM": "no",
        "PidFile": "none",
    }
    sshd = ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", str(tmp_path / "host")]
    sshd += [word for pair in options.items() for word in ("-o", "{}={}".format(*pair))]
    config = tmp_path / "ssh_config"
    config.write_text(
        f"IdentityFile {tmp_path}/user\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
        "LogLevel ERROR\nBatchMode yes\n"
    )
    with (tmp_path / "sshd.log").open("w") as log:
        names = ("node-a", "node-b")
        specs = [
            PodSpec(name=name, argv=tuple(sshd), tmpfs=("/run/sshd:mode=755",)) for name in names
        ]
        cluster.start_all(specs, stderr=log)
    launcher = cluster.start(PodSpec(name="launcher", argv=FOREVER))
    for name in names:

        def login(name: str = name) -> None:
            done = launcher.exec(["ssh", "-F", str(config), name, "hostname"])
            assert done.stdout == f"{name}\n", done.stderr

        eventually(login)
    mpirun = ["mpirun", "--allow-run-as-root", "--host", "node-a:2,node-b:1"]
    mpirun += ["--mca", "plm_rsh_args", f"-F {config}", "hostname"]
    done = launcher.exec(mpirun)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["node-a", "node-a", "node-b"]


AGENT = """
import os, signal, socket, sys, threading
role, rest = sys.argv[1], sys.argv[2:]
received = []
signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
signal.signal(signal.SIGHUP, lambda number, frame: received.append(number))
signal.pthread_sigmask(signal.SIG_SETMASK, [])
def say(text):
    print(text, file=sys.stderr, flush=True)
if role == "launcher":
    hosts, command = rest[1], rest[rest.index("--") + 1:]
    print(socket.gethostname(), *rest, flush=True)
    secret = os.environ["MPIBOOT_SECRET_FILE"]
    print(open(secret).read(), oct(os.stat(secret).st_mode & 0o777), os.environ["HOSTNAME"], flush=True)
    if command[0] == "await-signal":
        while not received:
            signal.sigtimedwait([], 0.02)
        print(signal.Signals(received[0]).name, flush=True)
        os._exit(42)
    for host in hosts.split(","):
        while True:
            try:
                socket.create_connection((host.partition(":")[0], 4001)).close()
                break
            except (ConnectionRefusedError, socket.gaierror):  # it is not up yet
                signal.sigtimedwait([], 0.02)
    if command[0] == "kill":
        import ctypes; ctypes.string_at(0)
    os._exit(int(command[1]))
say("up\\nsecond line of " + socket.gethostname())
listener = socket.create_server(("", 4001))
listener.settimeout(0.02)
deaf = os.environ.get("DEAF", "").split(",")
while True:
    try:
        listener.accept()
        say("job over")
        print("no newline at the end", end="", file=sys.stderr, flush=True)
        if socket.gethostname() not in deaf:
            os._exit(0)
    except TimeoutError:
        pass
    if received and "TERM" not in os.environ.get("IGNORE", ""):
        say("asked to leave")
        os._exit(0)
"""
RUN = """
import json, sys
from mpiboot.runtime import latch
latch.install()
print("latched", file=sys.stderr, flush=True)
from mpiboot.local import command
command.LEAVE_S, command.TERM_S = 0.5, 0.5
order = json.loads(sys.argv[1])
sys.exit(command.run_local(**order))
"""


def start_local(
    tmp_path: Path, command: list[str], **environment: str
) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)
    order = {
        "workers": 2,
        "slots": 3,
        "command": command,
        "agent": [sys.executable, str(agent)],
        "launcher_options": ["--timeout", "5"],
        "environment": {"PATH": os.environ["PATH"], **environment},
        "secret": "s3cret",
    }
    argv = [sys.executable, "-c", RUN, json.dumps(order)]
    return running(argv, stderr=subprocess.PIPE)


@needs_root
def test_run_local(tmp_path: Path) -> None:
    """The launcher's code is the result and stdout its own; workers' lines carry their name."""
    with start_local(tmp_path, ["exit", "7"]) as local:
        out, err = local.communicate(timeout=30)
    assert local.returncode == 7
    hosts = "worker-0:3,worker-1:3"
    assert out.splitlines() == [
        f"launcher --hosts {hosts} --rsh-agent= --timeout 5 -- exit 7",
        "s3cret 0o600 launcher",
    ]
    for number in (0, 1):
        lines = [line for line in err.splitlines() if line.startswith(f"worker-{number} | ")]
        texts = ["up", f"second line of worker-{number}", "job over", "no newline at the end"]
        assert lines == [f"worker-{number} | {text}" for text in texts]
    assert "killed" not in err


@needs_root
def test_run_local_launcher_killed_by_a_signal(tmp_path: Path) -> None:
    """A launcher that dies of signal n gives 128 + n."""
    with start_local(tmp_path, ["kill"]) as local:
        local.communicate(timeout=30)
    assert local.returncode == 128 + signal.SIGSEGV


@needs_root
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_run_local_passes_signals_on(tmp_path: Path, number: signal.Signals) -> None:
    """A signal to `mpiboot local` reaches the launcher's PID 1; workers are asked to leave."""
    with start_local(tmp_path, ["await-signal"]) as local:
        assert local.stdout
        assert local.stdout.readline().startswith("launcher ")
        assert local.stdout.readline().startswith("s3cret ")
        local.send_signal(number)
        out, err = local.communicate(timeout=30)
    assert local.returncode == 42
    assert out == f"{number.name}\n"
    assert "worker-0 | asked to leave" in err
    assert "killed" not in err


@needs_root
def test_run_local_does_not_lose_an_early_signal(tmp_path: Path) -> None:
    """A TERM that comes before there is any pod is passed on, and not lost while PID 1 starts."""
    with start_local(tmp_path, ["await-signal"]) as local:
        assert local.stderr
        assert local.stderr.readline() == "latched\n"
        local.send_signal(signal.SIGTERM)
        out, _ = local.communicate(timeout=30)
    assert local.returncode == 42
    assert out.endswith("SIGTERM\n")


@needs_root
def test_run_local_kills_and_names_a_worker_that_stays(tmp_path: Path) -> None:
    """A worker that does not leave, asked or not, is killed and named in one line; the code stays."""
    with start_local(tmp_path, ["exit", "0"], DEAF="worker-1", IGNORE="TERM") as local:
        _, err = local.communicate(timeout=30)
    assert local.returncode == 0
    assert [line for line in err.splitlines() if "killed" in line] == [
        "killed worker-1: still there 0.5 s after TERM"
    ]


@needs_root
def test_run_local_killed(tmp_path: Path) -> None:
    """SIGKILL to `mpiboot local` leaves no process: both ends of its pipes close at once."""
    with start_local(tmp_path, ["await-signal"]) as local:
        assert local.stdout
        assert local.stdout.readline().startswith("launcher ")
        local.kill()
        local.communicate(timeout=5)  # the launcher pod held stdout
    assert local.returncode == -signal.SIGKILL
    with Cluster() as cluster:  # the next start cleans
        assert not list(cluster.directory.parent.glob(f"{local.pid}-*"))


OUTER = {
    "K_MPI_JOB_ROLE": "worker",
    "OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh",
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
    "AWS_BATCH_JOB_NODE_INDEX": "1",
    "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
    "AWS_BATCH_JOB_NUM_NODES": "2",
    "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "10.9.9.9",
}


@needs_root
def test_local_in_a_pod_of_a_platform() -> None:
    """The pods take no part in the job that this machine belongs to, and ranks hear nothing of it."""
    options = ("--workers", "1", "--slots", "1", "--wait-timeout", "30")
    argv = [sys.executable, "-I", "-m", "mpiboot", "local", *options, "--", "env"]
    done = subprocess.run(
        argv, env={**os.environ, **OUTER, "NCCL_DEBUG": "WARN"}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = {line.partition("=")[0] for line in done.stdout.splitlines()}
    assert not names.intersection(OUTER)
    assert "NCCL_DEBUG=WARN" in done.stdout.splitlines()
    assert "announcing" not in done.stderr


@needs_root
@pytest.mark.parametrize(("options", "there"), [((), True), (("--no-page",), False)])
def test_the_page_of_a_local_job_is_on_this_machine(options: Sequence[str], there: bool) -> None:
    """Its address is told, shows the job while it runs, and is gone with it; --no-page has none."""
    argv = [sys.executable, "-I", "-m", "mpiboot", "local", "--workers", "1", "--slots", "1"]
    job = ["--", sys.executable, "-c", "import sys; print('on', flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        [*argv, *options, *job], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as local:  # fmt: skip
        assert local.stdout
        assert local.stdin
        assert local.stderr
        assert local.stdout.readline() == "on\n"
        first = local.stderr.readline()
        told, _, port = first.strip().rpartition("http://127.0.0.1:")
        assert told.endswith("the job's page: ") is there
        if there:
            asked = ["curl", "-sSf", f"http://127.0.0.1:{port}view.json"]
            view = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
            assert view["status"]["command"][0] == sys.executable
            local.communicate("", timeout=30)
            assert subprocess.run(asked, capture_output=True, check=False).returncode == 7
        local.communicate("", timeout=30)
    assert local.returncode == 0
