"""The rank wrapper, alone: start, signals, end, reports, output. With real MPIs: test_rank_mpi.py."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import pty
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.said import Said
from mpiboot.plan.frames import Frames, Record, Text
from tests.helpers.eventually import eventually

RANK = Path(messages.__file__).with_name("rank.py")
PYTHON = (sys.executable, "-I", "-S")
SIGNALS = Path(__file__).parents[1] / "helpers" / "programs" / "print_signals.py"
# The interpreter's own, and C parts; each rank waits for what is imported beyond these.
CHEAP = {
    "__future__", "_ctypes", "_json", "_socket", "errno", "fcntl", "mpiboot", "os", "resource", "select", "termios",
}  # fmt: skip


def command(*program: str, **options: object) -> list[str]:
    return [*PYTHON, str(RANK), json.dumps(options, separators=(",", ":")), *program]


def run(*program: str, env: Mapping[str, str] | None = None, **options: object) -> Any:
    base = {"PATH": os.environ["PATH"], "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}
    given = {**base, **(env or {})}
    argv = command(*program, **options)
    return subprocess.run(argv, env=given, capture_output=True, timeout=20, check=False)


def wall_s() -> float:
    return time.time_ns() / 1e9


class FakeAgent:
    """Takes what wrappers send, as the agent's socket does."""

    def __init__(self, directory: str) -> None:
        self.path = f"{directory}/link"
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(self.path)
        self._server.listen(8)

    @property
    def env(self) -> dict[str, str]:
        return {"MPIBOOT_LINK": self.path}

    def heard(self) -> list[dict[str, Any]]:
        """Take all that one wrapper sends, to its end; the times must be now, and are left out."""
        link, _ = self._server.accept()
        with link, link.makefile("rb") as lines:
            reports = [json.loads(line) for line in lines]
        assert all(abs(report.pop("time_ms") / 1000 - wall_s()) < 30 for report in reports)
        return reports

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def agent() -> Iterator[FakeAgent]:
    """An agent that listens; in a short directory, as socket paths are."""
    with (
        tempfile.TemporaryDirectory() as directory,
        contextlib.closing(FakeAgent(directory)) as one,
    ):
        yield one


def test_the_agent_of_this_container_is_found() -> None:
    """Where the variable is the launcher's, which a hydra has handed on, the worker's own is told."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "worker").mkdir()
        with contextlib.closing(FakeAgent(f"{directory}/worker")) as agent:
            run("true", env={"MPIBOOT_LINK": f"{directory}/launcher/link"})
            assert [one["event"] for one in agent.heard()] == ["started", "ended"]


@pytest.mark.parametrize("code", [0, 1, 78, 127, 255])
def test_code_passes_through(code: int) -> None:
    """The program's exit code is the wrapper's."""
    assert run("sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1])
def test_death_by_a_signal_passes_through(number: int) -> None:
    """The wrapper dies as the program died, so mpirun sees no difference."""
    assert run("sh", "-c", f"kill -{int(number)} $$").returncode == -number


@pytest.mark.parametrize(
    ("make", "code", "why", "words"),
    [
        (None, 127, "not found", "was not found"),
        ((b"#!/bin/sh\n", 0o644), 126, "not executable", "chmod +x"),
        ((b"\0\1\2\3", 0o755), 126, "not executable", "begins with #!"),
        ((b"#!/no/such/shell\n", 0o755), 126, "not executable", "interpreter"),
        ("directory", 126, "not executable", "is a directory"),
    ],
)
def test_program_that_cannot_run(
    tmp_path: Path, agent: FakeAgent, *, make: Any, code: int, why: str, words: str
) -> None:
    """Code, one line that says who and why, and a report: as shells have it, on every MPI."""
    path = tmp_path / "program"
    if make == "directory":
        path.mkdir()
    elif make:
        path.write_bytes(make[0])
        path.chmod(make[1])
    done = run(str(path), env=agent.env)
    assert done.returncode == code
    line = done.stderr.decode()
    assert line.startswith(f"mpiboot: rank 3 on {os.uname().nodename}: {path} ")
    assert words in line
    assert line.count("\n") == 1
    report = agent.heard()[0]
    assert (report["event"], report["code"], report["why"]) == ("ended", code, why)


def test_missing_program_is_looked_for_on_path() -> None:
    """A bare name is found as execvp finds it: past what cannot be executed, or else not at all."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "true").write_text("not executable")
        path = f"{directory}:/nowhere:{os.environ['PATH']}"
        assert run("true", env={"PATH": path}).returncode == 0
        assert run("true", env={"PATH": directory}).returncode == 126
        assert run("no-such-program", env={"PATH": path}).returncode == 127


def test_working_directory(tmp_path: Path) -> None:
    """The program runs in `wdir`; one that is missing is a fault of the configuration."""
    assert run("pwd", wdir=str(tmp_path)).stdout.decode().strip() == str(tmp_path)
    done = run("pwd", wdir=f"{tmp_path}/missing")
    assert done.returncode == 78
    assert f"cannot enter the working directory {tmp_path}/missing" in done.stderr.decode()


def test_environment_is_the_same_byte_for_byte() -> None:
    """What the wrapper was given the program has, but for the path to the agent; nothing is added."""
    env = {
        b"PATH": os.environb[b"PATH"],
        b"BASH_FUNC_x%%": b"() { :; }",
        b"BYTES": bytes(range(1, 256)),
        b"EMPTY": b"",
        b"MPIBOOT_OTHER": b"kept",
    }
    given = {**env, b"MPIBOOT_LINK": b"/nowhere"}
    show = ("cat", "/proc/self/environ")  # a shell would drop some
    done = subprocess.run(command(*show), env=given, capture_output=True, timeout=20, check=True)
    assert dict(item.split(b"=", 1) for item in done.stdout.split(b"\0")[:-1]) == env


def test_signals_and_descriptors_are_inherited() -> None:
    """Mask, dispositions and descriptors are those that the wrapper was started with."""
    show = ("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")

    def prepare() -> None:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        for number in (signal.SIGHUP, signal.SIGTSTP, signal.SIGCHLD, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGUSR1, signal.SIGALRM])

    expected, found = (
        subprocess.run(argv, preexec_fn=prepare, capture_output=True, timeout=20, check=True)
        for argv in (show, command(*show))
    )
    assert found.stdout == expected.stdout
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        subprocess.run(
            command("sh", "-c", f"echo here >/dev/fd/{writing}"),
            pass_fds=[writing],
            check=True,
            timeout=20,
        )
        os.close(writing)
        assert pipe.read() == b"here\n"


class Running:
    """A wrapped program that prints its signals, in a group of its own."""

    def __init__(self, *words: str, options: Mapping[str, object] | None = None) -> None:
        self.popen = subprocess.Popen(
            command(*words, **(options or {})), stdout=subprocess.PIPE, start_new_session=True
        )
        assert self.popen.stdout is not None
        self.lines = self.popen.stdout
        assert self.lines.readline() == b"ready\n"

    @property
    def program(self) -> int:
        children = Path(f"/proc/{self.popen.pid}/task/{self.popen.pid}/children")
        return int(children.read_text().split()[0])

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        self.lines.close()


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    own_group = getattr(request, "param", ())
    with contextlib.closing(Running(*own_group, sys.executable, str(SIGNALS), "--stubborn")) as one:
        yield one


OWN_GROUP = ("setsid",) if shutil.which("setsid") else ()


@pytest.mark.parametrize("running", [(), OWN_GROUP], indirect=True, ids=["same", "own"])
def test_each_signal_to_the_group_is_delivered_once(running: Running) -> None:
    """The wrapper survives what mpirun sends; the program gets it once, in a group of its own too."""
    names = ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGCONT", "SIGTSTP"]
    for name in names * 3:  # a second delivery may hide in the first, but not each time
        os.killpg(running.popen.pid, getattr(signal, name))
        assert running.lines.readline().decode() == f"{name}\n"
    assert running.popen.poll() is None
    os.kill(running.program, signal.SIGKILL)
    assert running.popen.wait(10) == -signal.SIGKILL
    assert running.lines.read() == b""


@pytest.mark.parametrize("running", [(), OWN_GROUP], indirect=True, ids=["same", "own"])
def test_program_dies_with_the_wrapper(running: Running) -> None:
    """A wrapper that is killed leaves no program behind."""
    program = running.program
    os.kill(running.popen.pid, signal.SIGKILL)
    running.popen.wait(10)

    def gone() -> None:
        status = Path(f"/proc/{program}/status")
        assert not status.exists() or "State:\tZ" in status.read_text()

    eventually(gone)


def test_reports_of_a_run(agent: FakeAgent) -> None:
    """The agent hears of the start and of the end, in its own message format."""
    done = run("sh", "-c", "echo $$; exit 5", env=agent.env)
    assert done.returncode == 5
    common = {"v": messages.VERSION, "kind": "rank", "rank": 3}
    started, ended = agent.heard()
    assert started.pop("wrapper") != started["pid"]  # from whose `err` the agent may read
    assert started.pop("err") > 2
    assert started == {**common, "size": 4, "pid": int(done.stdout), "event": "started"}
    assert ended == {**common, "event": "ended", "code": 5}
    run("sh", "-c", "kill -9 $$", env={**agent.env, "OMPI_COMM_WORLD_RANK": "0"})
    assert agent.heard()[1] == {**common, "rank": 0, "event": "ended", "signal": 9}


@pytest.mark.parametrize(
    ("env", "rank", "size"),
    [
        ({"PMI_RANK": "2", "PMI_SIZE": "8"}, 2, 8),
        ({"PMIX_RANK": "1"}, 1, -1),
        ({"PMI_RANK": "x"}, -1, -1),
        ({}, -1, -1),
    ],
)
def test_rank_of_each_process_manager(
    agent: FakeAgent, env: dict[str, str], rank: int, size: int
) -> None:
    """Rank and size are taken from whatever started us; without any the program runs all the same."""
    given = {"PATH": os.environ["PATH"], **env, **agent.env}
    subprocess.run(command("true"), env=given, check=True, timeout=20)
    started = agent.heard()[0]
    assert (started["rank"], started["size"]) == (rank, size)


def test_agent_that_is_absent_dead_or_hung(tmp_path: Path) -> None:
    """A rank neither waits for its agent nor fails with it: a second at most, at its end."""
    with tempfile.TemporaryDirectory() as directory:
        hung = socket.socket(socket.AF_UNIX)
        hung.bind(f"{directory}/hung")
        hung.listen(0)
        fillers = []
        for _ in range(2):
            filler = socket.socket(socket.AF_UNIX)
            filler.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filler.connect(f"{directory}/hung")
            fillers.append(filler)
        for place in (f"{directory}/absent", str(tmp_path), "x" * 300, f"{directory}/hung"):
            begun = time.monotonic()
            done = run("sh", "-c", "exit 4", env={"MPIBOOT_LINK": place})
            assert (done.returncode, done.stderr) == (4, b"")
            assert time.monotonic() - begun < 2
        for one in (hung, *fillers):
            one.close()


@pytest.mark.parametrize(
    ("script", "sent", "code"),
    [
        ("exit 3", b"cmd=abort exitcode=3\n", 3),
        ("kill -9 $$", b"cmd=abort exitcode=137\n", 137),
        ("exit 0", b"", 0),
    ],
)
def test_hydra_is_asked_to_abort(script: str, sent: bytes, code: int) -> None:
    """Where hydra's PMI is, a failure is told there before the wrapper ends, with the same code."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        env = {"PATH": os.environ["PATH"], "PMI_FD": str(theirs.fileno())}
        done = subprocess.run(
            command("sh", "-c", script),
            env=env,
            pass_fds=[theirs.fileno()],
            timeout=20,
            check=False,
        )
        theirs.close()
        assert (ours.recv(100), done.returncode) == (sent, code)


def test_hydra_that_has_gone_is_not_needed() -> None:
    """After MPI_Finalize nobody listens to PMI any more: the code alone has to do."""
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        env = {"PATH": os.environ["PATH"], "PMI_FD": str(theirs.fileno())}
        argv = command("sh", "-c", "exit 3")
        done = subprocess.run(argv, env=env, pass_fds=[theirs.fileno()], timeout=20, check=False)
    assert done.returncode == 3


MAPPING = """
import mmap, os, sys, time
with open(sys.argv[1], "rb") as file:
    held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
time.sleep(float(sys.argv[2]))
"""


def mapping(directory: Path, name: str, last_s: float) -> tuple[str, ...]:
    library = directory / name
    library.write_bytes(bytes(mmap.PAGESIZE))
    return sys.executable, "-c", MAPPING, str(library), str(last_s)


@pytest.mark.parametrize("name", ["libmpi.so.12", "libmpich.so.12.2.1", "libmpi_abi.so.1"])
def test_program_of_another_mpi_is_ended(tmp_path: Path, agent: FakeAgent, name: str) -> None:
    """N jobs of one rank each are no job: the program is ended, and the library is named."""
    begun = time.monotonic()
    done = run(*mapping(tmp_path, name, 30), env=agent.env, mpi="openmpi")
    assert done.returncode == 78
    assert time.monotonic() - begun < 8
    assert str(tmp_path / name) in done.stderr.decode()
    ended = agent.heard()[1]
    assert (ended["code"], ended["why"]) == (78, "other mpi")
    assert str(tmp_path / name) in ended["text"]


def test_child_that_ignores_term_is_killed(tmp_path: Path) -> None:
    """It may be a child of the program that has the other MPI; what ignores TERM is killed."""
    inner = shlex.join(mapping(tmp_path, "libmpi.so.40", 30))
    begun = time.monotonic()
    done = run("sh", "-c", f"trap '' TERM; {inner} & wait; wait", mpi="mpich")
    assert done.returncode == 78
    assert time.monotonic() - begun < 10


def test_program_of_the_same_mpi_is_left_alone(tmp_path: Path) -> None:
    """The right library, or none at all, is nobody's fault."""
    assert run(*mapping(tmp_path, "libmpi.so.40", 0.6), mpi="openmpi").returncode == 0
    assert run("sleep", "0.6", mpi="openmpi").returncode == 0
    assert run(*mapping(tmp_path, "libmpi.so.12", 0.6)).returncode == 0


def test_interface_in_the_jobs_network() -> None:
    """The variables name the interface that is in the first network that has any here."""
    show = ("sh", "-c", "echo $A $B")
    networks = ["240.0.0.0/8", "nonsense", "nonsense/x", "127.0.0.0/8", "::1/128"]
    done = run(*show, env={"B": "mine"}, net=networks, ifvars=["A", "B"])
    assert done.stdout.split() == [b"lo", b"mine"]
    assert run(*show, net=["240.0.0.0/8"], ifvars=["A", "B"]).stdout.split() == []
    if Path("/proc/net/if_inet6").exists() and " lo" in Path("/proc/net/if_inet6").read_text():
        assert run(*show, net=["::1/128"], ifvars=["A"]).stdout.split() == [b"lo"]


def read(data: bytes) -> list[Record]:
    frames = Frames("nonce")
    found = frames.feed(data) + frames.end()
    assert [item for item in found if isinstance(item, Text)] == []
    return [item for item in found if isinstance(item, Record)]


def stream(records: list[Record], name: str) -> bytes:
    return b"".join(record.data for record in records if record.stream == name)


def test_output_in_frames() -> None:
    """Both streams come in frames on stderr, byte for byte, with rank and time; stdout is empty."""
    data = "import os; os.write(1, bytes(range(256)) * 4096); os.write(2, b'half'); os.write(1, b'end')"
    before_ms = time.time_ns() // 1_000_000
    done = run(sys.executable, "-c", data, out="nonce")
    records = read(done.stderr)
    assert done.stdout == b""
    assert stream(records, "o") == bytes(range(256)) * 4096 + b"end"
    assert stream(records, "e") == b"half"
    assert {record.rank for record in records} == {3}
    assert all(before_ms <= record.time_ms <= before_ms + 20_000 for record in records)
    # Frames end with a line or are full, but for those after which the program was held up.
    odd = [r for r in records[:-2] if not r.data.endswith(b"\n") and len(r.data) < 3000]
    assert len([r for r in odd if r.stream == "o"]) < len(records) / 10


def test_pieces_of_a_line_travel_together() -> None:
    """A line that comes in pieces is one frame; a half line is not held back for long."""
    program = "for n in 1 2 3; do printf $n; sleep 0.02; done; echo; printf half; sleep 1; echo"
    with subprocess.Popen(
        command("sh", "-c", program, out="nonce"), stderr=subprocess.PIPE
    ) as popen:
        assert popen.stderr is not None
        frames, seen = Frames("nonce"), list[bytes]()
        while b"half" not in b"".join(seen):
            found = frames.feed(os.read(popen.stderr.fileno(), 4096))
            seen += [item.data for item in found if isinstance(item, Record)]
        assert popen.poll() is None
        assert seen == [b"123\n", b"half"]
        assert read(popen.stderr.read())[0].data == b"\n"


def test_terminal_for_a_terminal() -> None:
    """Where stdout was a terminal the program has one, and what it writes is not changed."""
    ours, theirs = pty.openpty()
    argv = command("sh", "-c", "test -t 1 && ! test -t 2 && printf 'a\\nb\\tc\\r\\n'", out="nonce")
    done = subprocess.run(argv, stdout=theirs, stderr=subprocess.PIPE, timeout=20, check=True)
    os.close(theirs)
    os.close(ours)
    assert stream(read(done.stderr), "o") == b"a\nb\tc\r\n"


@pytest.mark.parametrize("before", [b"", b"full" * 2048], ids=["narrow", "wide"])
def test_each_frame_is_read_whole(before: bytes) -> None:
    """A reader that takes 4 KiB at a time, as MPI's daemons do, never gets a part of a frame.

    A pipe that holds something already cannot be made narrow.
    """
    program = "import os\nfor n in range(400): os.write(1 + n % 2, b'x' * (n * 7) + b'\\n')"
    reading, writing = os.pipe()
    os.write(writing, before)
    argv = command(sys.executable, "-c", program, out="nonce")
    with (
        subprocess.Popen(argv, stderr=writing) as popen,
        os.fdopen(reading, "rb", buffering=0) as pipe,
    ):
        os.close(writing)
        children = Path(f"/proc/{popen.pid}/task/{popen.pid}/children")
        while before and not children.read_text() and popen.poll() is None:
            pass  # the wrapper has looked at the pipe once the program runs
        while before:
            before = before[len(pipe.read(4096)) :]
        while chunk := pipe.read(4096):
            assert read(chunk)
            time.sleep(0.0005)


def test_grandchild_does_not_hold_the_rank() -> None:
    """What the program left running may write for a moment; then the rank has ended all the same."""
    begun = time.monotonic()
    done = run("sh", "-c", "(sleep 0.05; echo late; exec sleep 5) & echo first", out="nonce")
    assert stream(read(done.stderr), "o") == b"first\nlate\n"
    assert 0.2 <= time.monotonic() - begun < 2
    assert run("sh", "-c", "yes & yes >&2 & echo first", out="nonce").returncode == 0
    assert time.monotonic() - begun < 4


def test_quick_program_is_not_held() -> None:
    """The end of the output is the end of the wait."""

    def took() -> float:
        begun = time.monotonic()
        run("true", out="nonce")
        return time.monotonic() - begun

    assert min(took() for _ in range(3)) < 0.15


def test_nobody_reads_frames() -> None:
    """When mpirun has gone the program finds out as it would have: its writes fail."""
    argv = command("sh", "-c", "trap '' PIPE; while echo line; do :; done; exit 9", out="nonce")
    with subprocess.Popen(argv, stderr=subprocess.PIPE) as popen:
        assert popen.stderr is not None
        assert popen.stderr.read(100)
        popen.stderr.close()
        assert popen.wait(10) == 9


@pytest.mark.parametrize(
    "options", [{}, {"out": "n", "mpi": "mpich", "net": ["::1/128"], "ifvars": ["A"]}]
)
def test_only_cheap_modules_are_imported(options: dict[str, object]) -> None:
    """Each rank waits for the wrapper's imports: the interpreter's own and some parts in C."""

    def imported(argv: list[str]) -> set[str]:
        timed = [argv[0], "-X", "importtime", *argv[1:]]
        text = subprocess.run(timed, capture_output=True, timeout=20, check=True).stderr.decode()
        lines = [line for line in text.splitlines() if line.startswith("import time:")]
        return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines[1:]}

    bare = imported([*PYTHON, "-c", "import os"])
    assert imported(command("true", **options)) - bare <= CHEAP


def test_last_words_of_a_failure(agent: FakeAgent) -> None:
    """The end of stderr goes with the report of a failure, and through to mpirun byte for byte."""
    program = "import os\nfor n in range(9000): os.write(2, b'line %d\\n' % n)\nos._exit(3)"
    done = run(sys.executable, "-c", program, env=agent.env)
    assert done.returncode == 3
    assert done.stderr == b"".join(b"line %d\n" % n for n in range(9000))
    ended = agent.heard()[1]
    assert ended["code"] == 3
    assert done.stderr.decode().endswith(ended["stderr"])
    assert 1000 < len(ended["stderr"]) <= 4096
    assert list(Path(agent.path).parent.glob("said.*")) == []


def test_last_words_in_frames_too(agent: FakeAgent) -> None:
    """Where output is framed, stderr is known as well."""
    run("sh", "-c", "echo out; echo boom >&2; exit 1", env=agent.env, out="nonce")
    assert agent.heard()[1]["stderr"] == "boom\n"


def test_success_has_no_last_words(agent: FakeAgent) -> None:
    """Warnings of a program that ends well are nobody's concern."""
    assert run("sh", "-c", "echo warning >&2", env=agent.env).stderr == b"warning\n"
    assert "stderr" not in agent.heard()[1]


def test_stderr_stays_what_it_is_where_it_is_no_pipe_of_its_own(
    agent: FakeAgent, tmp_path: Path
) -> None:
    """A terminal and a file stay; where both streams are one, the order of the two is kept."""
    ours, theirs = pty.openpty()
    env = {"PATH": os.environ["PATH"], **agent.env}
    show = ("sh", "-c", "test -t 2")
    subprocess.run(command(*show), env=env, stderr=theirs, timeout=20, check=True)
    os.close(theirs)
    os.close(ours)
    with (tmp_path / "file").open("wb") as file:
        named = ("sh", "-c", 'test "$(readlink /proc/self/fd/2)" = "$0"', file.name)
        subprocess.run(command(*named), env=env, stderr=file, timeout=20, check=True)
    both = "import os\nfor n in range(200): os.write(1 + n % 2, b'%d ' % n)"
    done = subprocess.run(
        command(sys.executable, "-c", both), env=env, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=20, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [b"%d" % n for n in range(200)]


def test_stderr_that_nobody_takes_holds_the_program_up(agent: FakeAgent) -> None:
    """As without us: it waits with its writing, hears signals, and its end is seen."""
    program = "import os\nwhile True: os.write(2, b'x' * 4096)"
    env = {"PATH": os.environ["PATH"], **agent.env}
    argv = command(sys.executable, "-c", program)
    with subprocess.Popen(argv, env=env, stderr=subprocess.PIPE) as popen:
        assert popen.stderr is not None
        children = Path(f"/proc/{popen.pid}/task/{popen.pid}/children")

        def blocked() -> None:
            pids = children.read_text().split()
            assert pids
            with Path(f"/proc/{popen.pid}/fd/2").open("wb", buffering=0) as end:
                assert select.select([], [end], [], 0) == (
                    [],
                    [],
                    [],
                )  # the wrapper is held up, too
            assert "pipe_w" in Path(f"/proc/{pids[0]}/wchan").read_text()

        eventually(blocked)
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        seen = 0
        while chunk := os.read(popen.stderr.fileno(), 65536):
            seen += len(chunk)
        assert popen.wait(10) == -signal.SIGKILL
        assert seen > 65536
        assert seen % 4096 == 0


def test_stderr_that_nobody_reads_any_more_breaks(agent: FakeAgent) -> None:
    """When mpirun has gone the program's writes fail, as without us, and the agent lets go, too."""
    argv = command("sh", "-c", "trap '' PIPE; while echo line >&2; do :; done; exit 9")
    env = {"PATH": os.environ["PATH"], **agent.env}
    with subprocess.Popen(argv, env=env, stderr=subprocess.PIPE) as popen:
        assert popen.stderr is not None
        assert popen.stderr.read(100)
        popen.stderr.close()
        assert popen.wait(10) == 9
    assert [report["event"] for report in agent.heard()] == ["started", "unheard", "ended"]


def test_grandchild_with_stderr_does_not_hold_the_rank(agent: FakeAgent) -> None:
    """What the program left running may write for a moment; then the rank has ended all the same."""
    begun = time.monotonic()
    done = run("sh", "-c", "(sleep 0.05; echo late >&2; exec sleep 5) >/dev/null & echo first >&2",
               env=agent.env)  # fmt: skip
    assert done.stderr == b"first\nlate\n"
    assert 0.2 <= time.monotonic() - begun < 4


def test_last_words_of_a_wrapper_that_is_killed() -> None:
    """MPICH kills wrappers, too: what was read and what was not is there, and the pipe is let go."""
    with (
        tempfile.TemporaryDirectory() as directory,
        contextlib.closing(FakeAgent(directory)) as one,
    ):
        program = "echo read >&2; read go; kill -STOP $PPID; echo left >&2; echo; sleep 60"
        argv = command("sh", "-c", program)
        env = {"PATH": os.environ["PATH"], **one.env}
        with subprocess.Popen(
            argv,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.PIPE,
            start_new_session=True,
        ) as popen:
            link, _ = one._server.accept()
            with link:
                started = messages.decode(link.recv(4096).rstrip(b"\n"))
                assert started is not None
                said = Said(Path(directory), started)
                assert popen.stdout is not None
                assert popen.stdin is not None
                assert popen.stderr is not None
                assert popen.stderr.readline() == b"read\n"
                popen.stdin.write(b"go\n")
                popen.stdin.flush()
                assert popen.stdout.readline() == b"\n"
                os.killpg(popen.pid, signal.SIGKILL)
                popen.wait(10)
        assert said.text() == "read\nleft\n"
        said.close()
        assert list(Path(directory).glob("said.*")) == []


def test_a_wrapper_stays_while_the_agent_wants_it() -> None:
    """The end is reported at once; the process stays until it may go, the time is over or we are gone."""
    for release in ("go", "time", "gone"):
        with (
            tempfile.TemporaryDirectory() as directory,
            contextlib.closing(FakeAgent(directory)) as one,
        ):
            env = {"PATH": os.environ["PATH"], **one.env}
            argv = command("sh", "-c", "read line; exit 4")
            with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE) as popen:
                link, _ = one._server.accept()
                with link, link.makefile("rb") as lines:
                    lines.readline()
                    until_ms = int((time.monotonic() + (1.5 if release == "time" else 60)) * 1000)
                    link.sendall(
                        Message(
                            kind=messages.RANK, body={"event": "hold", "until_ms": until_ms}
                        ).encode()
                    )
                    assert popen.stdin is not None
                    popen.stdin.close()
                    assert json.loads(lines.readline())["code"] == 4
                    os.kill(popen.pid, signal.SIGTERM)  # the warning itself may come to it, too
                    time.sleep(0.2)
                    assert popen.poll() is None
                    if release == "go":
                        link.sendall(Message(kind=messages.RANK, body={"event": "go"}).encode())
                    if release == "gone":
                        link.shutdown(socket.SHUT_RDWR)
                    assert popen.wait(20) == 4
