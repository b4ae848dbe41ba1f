"""Every image starts real jobs over two containers, and behaves the same."""

from __future__ import annotations

import json
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


def assert_trained(done: subprocess.CompletedProcess[str]) -> None:
    """Both hosts took part, the weights agree, and the loss fell as it always does."""
    assert done.returncode == 0, done.stdout + done.stderr
    for rank, host in ((0, "w1"), (1, "w2")):
        assert re.search(rf"rank {rank}/2 local 0/1 host {host} mpi_built=True", done.stdout)
    losses = [float(loss) for loss in re.findall(r"epoch \d loss (\S+)", done.stdout)]
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
