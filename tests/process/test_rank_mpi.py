"""The rank wrapper below each MPI that is here: two hosts, plain mpirun, no launcher."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mpiboot.link import messages
from mpiboot.local.cluster import Cluster, Pod
from mpiboot.model.record import replace
from mpiboot.plan.frames import Frames, Record, Text
from mpiboot.plan.lines import Lines
from tests.helpers.agents import Agents
from tests.helpers.keyfiles import make_key, make_key_directory
from tests.helpers.plainsshd import known_hosts, plain_sshd

RANK = Path(messages.__file__).with_name("rank.py")
FAULT = Path(__file__).with_name("programs") / "mpi_fault.py"
PYTHON = "/usr/bin/python3"
WHEELS = Path(os.environ.get("MPIBOOT_TEST_MPI") or Path(__file__).parents[2] / ".mpi").resolve()
DEBIAN = Path("/usr/lib/x86_64-linux-gnu")
REAPING = ("bash", "-c", "sleep infinity & wait")  # plain mpirun leaves ssh processes to PID 1
QUICK_S = 12.0  # beyond this a failure was not noticed: the other ranks ended by themselves
NOISE = re.compile(rb"\[\S+\] plm:\w+: Warning: setpgid\(.*\n")


@dataclass(frozen=True, kw_only=True)
class Mpi:
    """How one MPI is called on two hosts with two slots each.

    Attributes:
        mpirun: path of its mpirun or mpiexec.
        library: path of its libmpi.
        hydra: whether hydra starts its ranks.
        words: further words of the command line.
        through: what starts it.
        survivors: codes of ranks that notice another's death, and are sometimes the first to tell.
        env: what it needs in its environment.
    """

    mpirun: Path
    library: Path
    hydra: bool
    words: tuple[str, ...] = ()
    through: tuple[str, ...] = ()
    survivors: tuple[int, ...] = ()
    env: dict[str, str] = field(default_factory=dict)


_OPEN_MPI = ("--allow-run-as-root", "--bind-to", "none", "--mca", "plm_rsh_no_tree_spawn", "1")
MPIS = {
    "openmpi4": Mpi(
        mpirun=Path("/usr/bin/mpirun.openmpi"), library=DEBIAN / "libmpi.so.40", hydra=False,
        words=(*_OPEN_MPI, "--mca", "btl_vader_single_copy_mechanism", "none"),
    ),
    "openmpi5": Mpi(
        mpirun=WHEELS / "openmpi5/bin/mpirun", library=WHEELS / "openmpi5/lib/libmpi.so.40",
        hydra=False, words=_OPEN_MPI, survivors=(14,),
    ),
    "mpich4": Mpi(
        mpirun=Path("/usr/bin/mpiexec.hydra"), library=DEBIAN / "libmpich.so.12", hydra=True,
        words=("-iface", "eth0"),
    ),
    "mpich5": Mpi(
        mpirun=WHEELS / "mpich/bin/mpiexec.hydra", library=WHEELS / "mpich/lib/libmpi.so.12",
        hydra=True, words=("-iface", "eth0"),
    ),
    "intelmpi": Mpi(
        mpirun=WHEELS / "intelmpi/bin/mpiexec.hydra", library=WHEELS / "intelmpi/lib/libmpi.so.12",
        hydra=True, words=("-iface", "eth0", "-genv", "I_MPI_PIN", "0"),
        # Its mpiexec dies of SIGPIPE, with 141, when its own proxies end before it has told them to.
        through=("env", "--ignore-signal=PIPE"), env={"LD_LIBRARY_PATH": str(WHEELS / "intelmpi/lib")},
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a job left behind: its code, mpirun's own words, the lines of ranks, and its time."""

    code: int
    text: bytes
    lines: list[Record]
    took_s: float


class Rig:
    """Two hosts with sshd, and a third to call mpirun on."""

    def __init__(self, client: Pod, directory: Path) -> None:
        self._client = client
        self._directory = directory

    def run(
        self,
        mpi: Mpi,
        /,
        *program: str,
        np: int = 4,
        through: Sequence[str] = (),
        **options: object,
    ) -> Done:
        """Run a job whose ranks are wrapped, and read the frames in its stderr."""
        options = {"out": "nonce", **options}
        config = f"-F {self._directory}/ssh_config"
        env = {
            "HYDRA_LAUNCHER_EXTRA_ARGS": config,
            "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": config,
            **mpi.env,
        }
        wrapper = (PYTHON, "-I", "-S", str(RANK), json.dumps(options, separators=(",", ":")))
        argv = [*through, *mpi.through, *self._call(mpi, np, config), *wrapper, *program]
        pipe = subprocess.PIPE
        begun = time.monotonic()
        with self._client.popen_in(argv, env=env, stdout=pipe, stderr=pipe) as popen:
            try:
                out, err = popen.communicate(None, 60)
            except BaseException:
                os.killpg(popen.pid, signal.SIGKILL)
                raise
        took_s = time.monotonic() - begun
        text, lines = _read(err)
        return Done(code=popen.returncode, text=out + text, lines=lines, took_s=took_s)

    def _call(self, mpi: Mpi, np: int, config: str) -> list[str]:
        words = [str(mpi.mpirun), *mpi.words, "-np", str(np)]
        if mpi.hydra:
            return [*words, "-machinefile", f"{self._directory}/hosts.hydra"]
        hosts = ["--hostfile", f"{self._directory}/hosts.openmpi"]
        return [*words, *hosts, "--mca", "plm_rsh_args", config]


def _read(err: bytes) -> tuple[bytes, list[Record]]:
    """Tell mpirun's own words from the lines of the ranks."""
    frames, lines = Frames("nonce"), Lines(live=False)
    items = frames.feed(err) + frames.end()
    text = b"".join(item.data for item in items if isinstance(item, Text))
    whole = [one for item in items if isinstance(item, Record) for one in lines.add(item, 0.0)]
    return text, [
        replace(one, data=data)
        for one in whole + lines.end()
        for data in re.findall(rb"[^\n]*\n|[^\n]+", one.data)
    ]


@pytest.fixture(scope="module")
def rig(root: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Hosts that all tests of this file use, one after the other."""
    directory = tmp_path_factory.mktemp("rig")
    keys, host = make_key_directory(directory / "keys"), make_key(directory / "host")
    with Cluster() as cluster:
        agents = Agents(cluster, directory)
        key = keys / "id_ed25519"
        for name in ("w1", "w2"):
            plain_sshd(agents, name, host_key=host, authorized=[key], directory=directory)
        known = known_hosts(directory, {"w1": host, "w2": host})
        (directory / "ssh_config").write_text(
            f"Host *\nBatchMode yes\nIdentityFile {key}\nUserKnownHostsFile {known}\n"
        )
        (directory / "hosts.openmpi").write_text("w1 slots=2\nw2 slots=2\n")
        (directory / "hosts.hydra").write_text("w1:2\nw2:2\n")
        yield Rig(agents.start("client", REAPING).pod, directory)


@pytest.fixture(params=MPIS)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI that is on this machine."""
    one = MPIS[request.param]
    for path in (one.mpirun, one.library):
        if not path.exists():
            pytest.skip(f"{request.param} is not here: no {path}")
    return one


def fault(mpi: Mpi, how: str, code: int) -> tuple[str, ...]:
    return PYTHON, str(FAULT), str(mpi.library), how, str(code)


def said(done: Done) -> Sequence[bytes]:
    return sorted(line.data for line in done.lines)


@pytest.mark.parametrize(
    ("how", "code", "expected"),
    [("exit", 3, 3), ("abort", 7, 7), ("signal", 9, 137), ("signal", 15, 143), ("signal", 11, 139)],
)
def test_failure_of_a_rank(rig: Rig, mpi: Mpi, how: str, code: int, expected: int) -> None:
    """The job ends at once, with the code of the rank that failed, and its last words are there."""
    done = rig.run(mpi, *fault(mpi, how, code))
    assert done.code in (expected, *mpi.survivors), done.text
    assert done.took_s < QUICK_S
    assert how == "abort" or b"last words\n" in said(done)  # after its own abort hydra is quicker


def test_success(rig: Rig, mpi: Mpi) -> None:
    """A job that ends well ends with 0, and nothing is lost or added."""
    # With two ranks: MPICH 4.0.2 itself hangs in MPI_Finalize in one of ten jobs over two hosts.
    done = rig.run(mpi, *fault(mpi, "ok", 0), np=2)
    assert (done.code, NOISE.sub(b"", done.text)) == (0, b"")
    assert said(done) == [b"rank 0 of 2\n", b"rank 1 of 2\n"]


def test_program_without_mpi(rig: Rig, mpi: Mpi) -> None:
    """What knows nothing of MPI fails in the same way."""
    script = "test ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 2 && exit 5; exec sleep 20"
    done = rig.run(mpi, "sh", "-c", script)
    assert (done.code, done.took_s < QUICK_S) == (5, True), done.text


@pytest.mark.parametrize(("program", "code"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_program_that_cannot_run(rig: Rig, mpi: Mpi, program: str, code: int) -> None:
    """It is told as shells tell it, with rank and host."""
    done = rig.run(mpi, program)
    assert done.code == code, done.text
    assert re.search(rb"mpiboot: rank \d on w[12]: \S*" + program.encode(), done.text)


def test_other_mpi(rig: Rig, mpi: Mpi) -> None:
    """A program of another MPI does not end with 0 and four times `rank 0 of 1`."""
    others = [
        other for other in MPIS.values() if other.hydra != mpi.hydra and other.library.exists()
    ]
    if not others:
        pytest.skip("only one kind of MPI is here")
    # Ranks wait in `sleep`, as the singletons would work for hours.
    done = rig.run(mpi, *fault(others[0], "wait", 0), mpi="mpich" if mpi.hydra else "openmpi")
    assert done.code == 78, done.text
    assert b"the program uses another MPI than" in done.text
    # MPICH 5.0.2 may see PMIx in its environment and be gone before anybody has looked.
    found = (str(others[0].library.resolve()).encode(), b"unsupported PMI version PMIx)")
    assert any(one in done.text for one in found)


WRITER = """
import sys
rank = sys.argv[1]
for number in range(300):
    line = f"<{rank}:{number}:".ljust(998, rank) + ">\\n"
    for at in range(0, 1000, 50):
        sys.stdout.write(line[at:at + 50])
        sys.stdout.flush()
"""


def test_out_01_lines_of_all_ranks_stay_whole(rig: Rig, mpi: Mpi) -> None:
    """4 ranks on 2 hosts, 300 lines each in 20 pieces: 1,200 lines come, in order, none is mixed.

    Open MPI 5 may lose some of them, and here is no launcher to whom they would be sent again.
    """
    script = f'exec {PYTHON} -c "$0" ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}'
    done = rig.run(mpi, "sh", "-c", script, WRITER)
    assert (done.code, NOISE.sub(b"", done.text)) == (0, b"")
    for rank in range(4):
        found = [line.data for line in done.lines if line.rank == rank]
        text = str(rank)
        expected = [f"<{rank}:{n}:".ljust(998, text).encode() + b">\n" for n in range(300)]
        assert found == [line for line in expected if line in found or not mpi.survivors]
    assert len(done.lines) == 1200 or mpi.survivors


def test_much_output_at_the_end(rig: Rig, mpi: Mpi) -> None:
    """3 MB of each rank right before its end are all there, whole.

    Open MPI 5 throws some of it away, and here is no launcher to whom it would be sent again.
    """
    program = "import os\nfor n in range(3000): os.write(1, b'x' * 999 + b'\\n')"
    done = rig.run(mpi, PYTHON, "-c", program)
    assert done.code == 0
    assert len(done.lines) == 12_000 or mpi.survivors
    assert {len(line.data) for line in done.lines} == {1000} or mpi.survivors


def test_signal_to_all_ranks(rig: Rig, mpi: Mpi, tmp_path: Path) -> None:
    """What mpirun forwards each program gets once, and it decides what that means."""
    program = (
        "import os, signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
        "rank = os.environ.get('OMPI_COMM_WORLD_RANK') or os.environ['PMI_RANK']\n"
        f"open('{tmp_path}/ready.' + rank, 'w').close()\n"
        "signal.sigwait([signal.SIGUSR1])\n"
        "again = signal.sigtimedwait([signal.SIGUSR1], 0.5)\n"
        "print('once' if again is None else 'twice')\n"
    )
    sender = (
        f"(until test $(ls {tmp_path} | grep -c ready) = 4; do sleep 0.05; done; kill -USR1 $$) &"
        ' exec "$0" "$@"'
    )
    done = rig.run(mpi, PYTHON, "-c", program, through=("sh", "-c", sender))
    assert done.code == 0, done.text
    assert said(done) == [b"once\n"] * 4
