"""Every image starts real jobs over two containers, and behaves the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.docker.conftest import Box, docker
from tests.docker.test_images import STACKS, TRAINING, image
from tests.helpers.agents import PROGRAMS

pytestmark = pytest.mark.docker

MPIS = [name for name in STACKS if name not in TRAINING]
MOUNT = ("-v", f"{PROGRAMS}:/programs:ro")
SHARE = "/opt/mpiboot/share/programs"
TRAIN = f"{SHARE}/train_mxnet.py"
FATES = {
    ("exit", "7"): 7,
    ("abort", "7"): 7,
    ("kill", "9"): 137,
    ("kill", "11"): 139,
    ("raise",): 1,
}
HOSTS = ("--hosts", "w1:1,w2:1")


def workers(box: Box, stack: str, *options: str) -> None:
    """Start w1 and w2."""
    for name in ("w1", "w2"):
        box.start(name, "worker", *options, image=image(stack, "-test"), options=MOUNT)


def launch(
    box: Box, stack: str, *command: str, options: Sequence[str] = (), name: str = "launcher",
    env: Sequence[str] = (), hosts: Sequence[str] = HOSTS,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a launcher to its end."""
    given = [word for pair in env for word in ("-e", pair)]
    return docker(
        "run", "--name", f"{box.run}-{name}", "--hostname", name, "--network", box.run,
        "--label", f"mpiboot.test={box.run}", "-e", f"MPIBOOT_SECRET={box.secret}", *MOUNT, *given,
        image(stack, "-test"), "launcher", *hosts, *options, "--", *command, timeout=90,
    )  # fmt: skip


@pytest.mark.parametrize("stack", MPIS)
def test_a_job_over_two_containers(box: Box, stack: str) -> None:
    """The sum is right, both workers took part, and both leave with 0."""
    workers(box, stack)
    done = launch(box, stack, "python3", f"{SHARE}/allreduce.py")
    assert done.returncode == 0, done.stderr
    assert "sum=3 expected=3 ranks=2 hosts=2" in done.stdout
    assert [box.wait("w1"), box.wait("w2")] == [0, 0]


def test_mpich_4_0_always_ends(box: Box) -> None:
    """Eighty jobs over two containers end: as Debian ships it, two or three of them would hang."""
    workers(box, "mpich4.0")
    job = f"timeout 20 mpiexec -np 2 python3 {SHARE}/allreduce.py >>/tmp/said || echo run $i"
    loop = f"for i in $(seq 80); do {job}; done; grep -c sum=3 /tmp/said"
    done = launch(box, "mpich4.0", "sh", "-c", loop, options=("--own-launcher",))
    assert (done.returncode, done.stdout) == (0, "80\n"), done.stderr


@pytest.mark.parametrize("stack", MPIS)
def test_codes_mean_the_same(box: Box, stack: str) -> None:
    """A rank's code, MPI_Abort's, 128 + signal, 127 and 126, while another rank waits for it."""
    workers(box, stack, "--retry-grace", "60")
    jobs = {("python3", "/programs/fate.py", *words): code for words, code in FATES.items()}
    jobs |= {("no-such-program",): 127, ("/etc/passwd",): 126}
    for number, (job, code) in enumerate(jobs.items()):
        done = launch(
            box, stack, *job, options=("--no-failure-is-final",), name=f"launcher{number}"
        )
        assert done.returncode == code, (job, done.stderr)
    done = launch(box, stack, "python3", "/programs/fate.py", "fine")
    assert done.returncode == 0, done.stderr
    assert [box.wait("w1"), box.wait("w2")] == [0, 0]


@pytest.mark.parametrize("stack", MPIS)
def test_arguments_and_environment(box: Box, stack: str, tmp_path: Path) -> None:
    """Hostile words and values arrive as they are; what speaks of the container stays."""
    value = 'a\nb c;$(touch /tmp/pwned) "q" \' ü'
    words = ["", "a b", "$HOME", "*", "'", '"', "\\", "-np", "--", "ü", "a\nb"]
    show = (
        "import json, os, sys; os.write(1, json.dumps([os.environ.get('EVIL'),"
        " os.environ.get('EMPTY'), os.environ['HOSTNAME'], sys.argv[1:]]).encode() + b'\\n')"
    )
    workers(box, stack)
    done = launch(
        box, stack, "python3", "-c", show, *words,
        options=("-x", "EVIL", "-x", "EMPTY"), env=(f"EVIL={value}", "EMPTY="),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = sorted(json.loads(line) for line in done.stdout.splitlines())
    assert seen == [[value, "", "w1", words], [value, "", "w2", words]]
    assert box.exec("w1", "ls", "/tmp/pwned").returncode != 0


@pytest.mark.parametrize("stack", MPIS)
def test_a_command_with_its_own_mpirun(box: Box, stack: str) -> None:
    """`mpirun` in the command finds the workers, whatever MPI it is."""
    workers(box, stack)
    done = launch(box, stack, "mpirun", "python3", f"{SHARE}/allreduce.py")
    assert done.returncode == 0, done.stderr
    assert "ranks=2 hosts=2" in done.stdout


@pytest.mark.parametrize("stack", MPIS)
def test_lines_have_an_owner(box: Box, stack: str) -> None:
    """With tags each of 1,200 long lines of four ranks is whole; written in 20 pieces each."""
    workers(box, stack)
    done = launch(
        box, stack, "python3", "-u", "/programs/pieces.py", "300", "1000",
        options=("--tag-output",), hosts=("--hosts", "w1:2,w2:2"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    expected = [
        f"[{rank}] " + f"{rank}:{n:04d}:".ljust(1000, str(rank))
        for rank in range(4)
        for n in range(300)
    ]
    assert sorted(lines) == expected


@pytest.mark.parametrize(
    ("stack", "own"),
    [
        *((stack, own) for stack in MPIS for own in ((), ("mpirun",))),
        ("openmpi5", ("mpirun", "--output", "tag")),
    ],
)
def test_half_lines_stay_on_their_stream(box: Box, stack: str, own: tuple[str, ...]) -> None:
    """Nothing that a rank writes to stderr comes out on stdout, or the other way round.

    Open MPI 5.0.7 left alone puts one half in ten on the wrong stream.
    """
    workers(box, stack)
    program = ("python3", "/programs/half_lines.py", "100")
    done = launch(box, stack, *own, *program, hosts=("--hosts", "w1:2,w2:2"))
    assert done.returncode == 0, done.stderr
    for stream, text in (("out", done.stdout), ("err", done.stderr)):
        halves = re.findall(r"<(\w+ \d:\d+)>", text), re.findall(r"\[(\w+ \d:\d+)\]", text)
        expected = sorted(f"{stream} {rank}:{number}" for rank in range(4) for number in range(100))
        assert [sorted(half) for half in halves] == [expected, expected]


def assert_trained(done: subprocess.CompletedProcess[str]) -> None:
    """Both hosts took part, the weights agree, and the loss fell as it always does."""
    assert done.returncode == 0, done.stdout + done.stderr
    for rank, host in ((0, "w1"), (1, "w2")):
        assert re.search(rf"rank {rank}/2 local 0/1 host {host} mpi_built=True", done.stdout)
    # horovodrun's own tags may fall into a line that mpirun reads in two pieces.
    losses = [float(loss) for loss in re.findall(r"epoch \d loss ([0-9.]+)", done.stdout)]
    assert len(losses) == 5
    assert losses[-1] < 0.01 < losses[0]
    assert "same_on_all_ranks True" in done.stdout


@pytest.mark.parametrize("stack", TRAINING)
def test_horovod_trains(box: Box, stack: str) -> None:
    """Real Horovod over two containers, started by mpiboot alone."""
    workers(box, stack)
    assert_trained(launch(box, stack, "python3", TRAIN))


@pytest.mark.parametrize("stack", TRAINING)
@pytest.mark.parametrize("hosts", [("-H", "w1:1,w2:1"), ()], ids=["with-hosts", "without"])
def test_horovodrun_trains(box: Box, stack: str, hosts: tuple[str, ...]) -> None:
    """`horovodrun` as people have it, on Open MPI 5, too, where it fails by itself."""
    workers(box, stack)
    command = ("horovodrun", "-np", "2", *hosts, "--mpi", "python3", TRAIN)
    assert_trained(launch(box, stack, *command))


def test_horovodrun_fails_by_itself_on_openmpi5(box: Box) -> None:
    """The reason for our stand-ins: without them, the same command cannot work."""
    workers(box, "horovod-openmpi5")
    command = ("env", "MPIBOOT_SHIMS=off", "horovodrun", "-np", "2", "--mpi", "python3", TRAIN)
    done = launch(box, "horovod-openmpi5", *command)
    assert done.returncode != 0


BLOCKED = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [
        {
            "names": ["process_vm_readv", "process_vm_writev"],
            "action": "SCMP_ACT_ERRNO",
            "errnoRet": 1,
        }
    ],
}


@pytest.mark.parametrize("blocked", [True, False], ids=["blocked", "allowed"])
@pytest.mark.parametrize("stack", ["openmpi4", "openmpi5"])
def test_net_06_memory_that_ranks_may_not_read(
    box: Box, stack: str, tmp_path: Path, *, blocked: bool
) -> None:
    """Where seccomp forbids it, Open MPI is told so and says nothing; where not, it is left alone."""
    profile = tmp_path / "seccomp.json"
    profile.write_text(json.dumps(BLOCKED))
    options = [*MOUNT, "--security-opt", f"seccomp={profile}"] if blocked else [*MOUNT]
    if not blocked:
        options += ["--cap-add", "SYS_PTRACE"]
    box.start("w1", "worker", image=image(stack, "-test"), options=options)
    done = launch(
        box, stack, "python3", "/programs/exchange.py", "4000000",
        hosts=("--hosts", "w1:2"), options=("--log-level", "debug"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("right") == 2
    assert "Read -1" not in done.stderr
    told = "btl_vader_single_copy_mechanism none" in done.stderr
    assert told == (blocked and stack == "openmpi4")


@pytest.mark.parametrize("stack", ["openmpi4", "openmpi5", "mpich", "intelmpi"])
def test_res_03_fewer_cpus_than_ranks(box: Box, stack: str) -> None:
    """Four ranks on half a CPU: waiting ones let others run, and the log tells so."""
    options = [*MOUNT, "--cpus", "0.5"]
    box.start("w1", "worker", image=image(stack, "-test"), options=options)
    done = launch(
        box, stack, "python3", "/programs/barriers.py", "200", hosts=("--hosts", "w1:4"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "w1 has 0.5 CPUs for 4 slots: waiting ranks let others run" in done.stderr
    seconds = float(done.stdout.split()[-1])
    assert seconds < 4.0


def test_res_03_enough_cpus(box: Box) -> None:
    """With a CPU for each rank nothing is set, for to yield costs time."""
    box.start("w1", "worker", image=image("openmpi4", "-test"), options=[*MOUNT, "--cpus", "2"])
    done = launch(
        box, "openmpi4", "python3", "/programs/barriers.py", "10",
        hosts=("--hosts", "w1:2"), options=("--log-level", "debug"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mpi_yield_when_idle" not in done.stderr


@pytest.mark.parametrize("stack", ["openmpi4", "openmpi5", "mpich", "intelmpi"])
@pytest.mark.parametrize("own", [(), ("mpirun",)], ids=["agent", "own"])
def test_containers_of_one_machine_do_not_spin(box: Box, stack: str, own: tuple[str, ...]) -> None:
    """Four with a rank each have two CPUs: nobody binds, and waiting ranks let others run.

    Without that 2,000 barriers take from 20 s on.
    """
    for name in ("w1", "w2", "w3", "w4"):
        cpus = ("--cpuset-cpus", "0,1") if len(os.sched_getaffinity(0)) > 1 else ()
        box.start(name, "worker", image=image(stack, "-test"), options=(*MOUNT, *cpus))
    done = launch(
        box, stack, *own, "python3", "/programs/barriers.py", "2000",
        hosts=("--hosts", "w1:1,w2:1,w3:1,w4:1"), options=("--profile", "plain"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "w1, w2, w3 and 1 more share" in done.stderr
    assert float(done.stdout.split()[-1]) < 8.0


@pytest.mark.parametrize("stack", ["openmpi4", "openmpi5"])
@pytest.mark.parametrize("own", [(), ("mpirun",)], ids=["agent", "own"])
def test_containers_of_one_machine_do_not_bind(box: Box, stack: str, own: tuple[str, ...]) -> None:
    """Both would bind their rank to the first CPU; a user's --bind-to is heeded all the same."""
    program = "import os; print(len(os.sched_getaffinity(0)))"
    workers(box, stack, "--retry-grace", "60")
    debug = ("--profile", "plain", "--log-level", "debug")
    done = launch(box, stack, *own, "python3", "-c", program, options=debug)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(len(os.sched_getaffinity(0)))] * 2
    assert "yield_when_idle" not in done.stderr


@pytest.mark.parametrize("stack", ["openmpi4", "openmpi5"])
def test_res_05_binding(box: Box, stack: str) -> None:
    """By default nothing is bound and nothing complains; a user's --bind-to is given once."""
    workers(box, stack, "--retry-grace", "60")
    debug = ("--no-failure-is-final", "--log-level", "debug")
    default = launch(box, stack, "sh", "-c", "exit 3", options=debug)
    assert default.returncode == 3, default.stderr
    assert "failed to bind" not in default.stderr
    bound = launch(box, stack, "true", options=(*debug, "--bind-to", "core"), name="launcher2")
    assert bound.returncode == 0, bound.stderr
    called = next(line for line in bound.stderr.splitlines() if "mpirun is called as" in line)
    assert called.count("--bind-to") == called.count("--bind-to core") == 1


@pytest.mark.parametrize("stack", ["openmpi4", "openmpi5"])
def test_netpipe(box: Box, stack: str) -> None:
    """NetPIPE measures between two containers up to 64 KiB; it writes each line in two pieces."""
    workers(box, stack)
    done = launch(box, stack, "NPopenmpi", "-u", "65536", "-n", "20", options=("--wdir", "/tmp"))
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^ *(\d+): +\d+ bytes +\d+ times --> .* usec$", done.stderr, re.MULTILINE)
    assert [int(number) for number in lines] == list(range(82))
    assert sorted(done.stdout.split()) == ["0:", "1:", "w1", "w2"]


def test_hpcc_on_openmpi5(box: Box) -> None:
    """HPCC's own checks pass between two containers on Open MPI 5, as they do on 4."""
    prepare = (
        "mkdir -p /tmp/h && cd /tmp/h && sed -e '6s,.*,200 Ns,;11s,.*,1 Ps,;12s,.*,2 Qs,'"
        " -e 's/^1200 10000 30000/200/' /usr/share/doc/hpcc/examples/_hpccinf.txt > hpccinf.txt"
    )
    show = "[ $OMPI_COMM_WORLD_RANK != 0 ] || grep -E '^(Success|CommWorldProcs)=' hpccoutf.txt"
    workers(box, "openmpi5")
    done = launch(box, "openmpi5", "sh", "-c", f"{prepare} && hpcc || exit 1; {show}")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["CommWorldProcs=2", "Success=1"]
