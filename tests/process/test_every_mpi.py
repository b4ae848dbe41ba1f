"""The same behaviour on every MPI: results, codes, arguments, environment, output."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mpiboot.local.cluster import Cluster
from tests.helpers.agents import MPIBOOT, PROGRAMS, Agent, Agents
from tests.helpers.eventually import eventually
from tests.helpers.mpis import MPIS, Mpi

# Open MPI 4 waits two seconds over each rank that failed; these tests are not about that.
QUICK = {"openmpi4": ("--mca", "odls_base_sigkill_timeout", "0")}
FATES = {
    "fine": (("fine",), 0),
    "exit-7": (("exit", "7"), 7),
    "exit-255": (("exit", "255"), 255),
    "abort-7": (("abort", "7"), 7),
    "sigkill": (("kill", "9"), 137),
    "sigsegv": (("kill", "11"), 139),
    "sigterm": (("kill", "15"), 143),
    "raise": (("raise",), 1),
    "after-finalize": (("finalize", "3"), 3),
}
TORTURE = {
    "NEWLINES": 'a\nb c;$(touch /tmp/pwned) "q"\n',
    "QUOTES": "'\"`\\ $HOME ${PATH} #x %s",
    "EQUALS": "x=y=z=",
    "COMMAS": "a,b,,c",
    "UMLAUT": "ü → 猫 ",
    "EMPTY": "",
    "BLANKS": "  leading and trailing\t ",
    "LONG": "x" * 60_000,
    "BASH_FUNC_hello%%": "() {  echo hello;\n}",
}
WORDS = (
    "",
    " ",
    "a b",
    "$HOME",
    "`id`",
    "*",
    "x;y",
    "'",
    '"',
    "\\",
    "-np",
    "--",
    "ü猫",
    "a\nb",
    "=",
)


@pytest.fixture(params=MPIS, ids=str, scope="module")
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI in turn."""
    chosen: Mpi = request.param
    chosen.need()
    return chosen


def launch(agents: Agents, mpi: Mpi, *command: str, **spec: Any) -> Agent:
    """Start a launcher with this MPI; `entry` is a shell script that runs in its pod before it."""
    entry = spec.pop("entry", "")
    if entry:
        spec["agent"] = ("sh", "-c", f'{entry} exec "$@"', "sh", *MPIBOOT)
    spec.setdefault("hosts", "w1:1,w2:1")
    quick = QUICK.get(mpi.name, ()) if spec.pop("quick", True) else ()
    options = (*mpi.options, *quick, *spec.pop("options", ()))
    env = {**mpi.pod.get("env", {}), **spec.pop("env", {})}
    return agents.launcher(*command, options=options, env=env, **spec)


def run(agents: Agents, mpi: Mpi, *command: str, workers: int = 2, **spec: Any) -> Agent:
    """Run a job with this MPI to its end and check the global assertions."""
    agents.workers(workers, **mpi.pod)
    launcher = launch(agents, mpi, *command, **spec)
    launcher.wait(60)
    agents.assert_global()
    return launcher


@pytest.fixture(scope="module")
def ended(
    root: None, mpi: Mpi, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Agent]]:
    """Jobs of two ranks on two hosts that end in each way, all at the same time."""
    directory = tmp_path_factory.mktemp("fates")
    not_executable = directory / "not-executable"
    not_executable.write_text("#!/bin/sh\n")
    jobs = {name: mpi.python_program("fate.py", *words) for name, (words, _) in FATES.items()}
    jobs["absent"] = ("no-such-program",)
    jobs["not-executable"] = (str(not_executable),)
    with Cluster() as cluster:
        agents = Agents(cluster, directory)
        launchers = {}
        for name, job in jobs.items():
            for number in (1, 2):
                agents.worker(f"w{number}-{name}", **mpi.pod)
            hosts = f"w1-{name}:1,w2-{name}:1"
            launchers[name] = launch(agents, mpi, *job, hosts=hosts, name=name)
        for launcher in launchers.values():
            launcher.wait(90)
        agents.assert_global(raising=[launchers["raise"]])
        yield launchers


@pytest.mark.parametrize("name", FATES)
def test_exit_02_codes_mean_the_same(ended: Mapping[str, Agent], name: str) -> None:
    """A rank's code, 128 + its signal, or what it gave to MPI_Abort, although others still wait."""
    launcher, code = ended[name], FATES[name][1]
    assert launcher.wait() == code
    lines = sorted(launcher.out.decode().splitlines())
    assert lines == [f"rank {rank} of 2 on w{rank + 1}-{name}" for rank in (0, 1)]


@pytest.mark.parametrize("name", ["exit-7", "abort-7", "sigkill", "sigsegv", "raise"])
def test_the_rank_that_failed_first_is_named(ended: Mapping[str, Agent], name: str) -> None:
    """Rank and host stand in the last line and in the outcome, whatever the MPI itself tells."""
    launcher, code = ended[name], FATES[name][1]
    last = launcher.log.splitlines()[-1]
    assert f" exit {code}: rank 1 " in last
    first = launcher.status["outcome"]["failures"][0]
    assert first["rank"] == 1
    assert first.get("host", f"w2-{name}") == f"w2-{name}"


def test_fail_04_an_exception_of_one_rank_ends_the_job(ended: Mapping[str, Agent]) -> None:
    """The others do not wait in their barrier for ever, and the exception is there to be read."""
    assert ended["raise"].wait() == 1
    assert "ValueError: this rank has had enough" in ended["raise"].log


@pytest.mark.parametrize(("name", "code"), [("absent", 127), ("not-executable", 126)])
def test_programs_that_cannot_run(ended: Mapping[str, Agent], name: str, code: int) -> None:
    """127 and 126, as a shell would say."""
    launcher = ended[name]
    assert launcher.wait() == code
    assert launcher.status["outcome"]["fault"] == "user"


def test_allreduce_over_two_hosts(agents: Agents, mpi: Mpi) -> None:
    """A real program computes the right sum with ranks on both hosts, and none on the launcher."""
    program = PROGRAMS.parents[2] / "images/programs/allreduce.py"
    launcher = run(agents, mpi, str(mpi.python), str(program))
    assert launcher.wait() == 0
    assert "allreduce: sum=3 expected=3 ranks=2 hosts=2" in launcher.out.decode()


def test_slots_and_the_order_of_ranks(agents: Agents, mpi: Mpi) -> None:
    """MPI-04, RES-02: by slot ranks fill one worker before the next; by node they take turns."""
    job = ("sh", "-c", 'echo "${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $(hostname)"')
    for name, options, expected in (
        ("slot", (), "0 w1,1 w1,2 w2,3 w2"),
        ("node", ("--map-by", "node"), "0 w1,1 w2,2 w1,3 w2"),
    ):
        agents.workers(2, **mpi.pod)
        launcher = launch(agents, mpi, *job, hosts="w1:2,w2:2", options=options, name=f"by-{name}")
        assert launcher.wait() == 0
        agents.assert_global()
        assert sorted(launcher.out.decode().splitlines()) == expected.split(",")


def test_env_04_values_arrive_byte_for_byte(agents: Agents, mpi: Mpi, tmp_path: Path) -> None:
    """Newlines, quotes, functions: what the launcher hands on by name, each rank has exactly."""
    names = [word for name in TORTURE for word in ("-x", name)]
    launcher = run(
        agents, mpi, *mpi.python_program("showenv.py", str(tmp_path)),
        options=[*names, "-x", "GIVEN=1 \n=2"], env=TORTURE,
    )  # fmt: skip
    assert launcher.wait() == 0
    for host in ("w1", "w2"):
        found = {
            name: base64.b64decode(value).decode()
            for name, value in json.loads((tmp_path / host).read_text()).items()
        }
        assert {name: found.get(name) for name in TORTURE} == TORTURE
        assert found["GIVEN"] == "1 \n=2"
        assert found["HOSTNAME"] == host
        assert [name for name in found if name.startswith("MPIBOOT_")] == ["MPIBOOT_ATTEMPT"]
    assert not Path("/tmp/pwned").exists()


def test_arguments_arrive_byte_for_byte(agents: Agents, mpi: Mpi, tmp_path: Path) -> None:
    """No shell, no MPI and no wrapper touches the arguments of the job."""
    job = mpi.python_program("showargs.py", str(tmp_path / "args"), *WORDS)
    assert run(agents, mpi, *job).wait() == 0
    for rank in (0, 1):
        lines = (tmp_path / f"args.{rank}").read_text().split("\n")
        assert [bytes.fromhex(line).decode() for line in lines] == list(WORDS)


def test_env_08_secrets_stand_in_no_process_list(agents: Agents, mpi: Mpi) -> None:
    """A secret that is handed on reaches the ranks, and no command line, log or file shows it."""
    secret = "s3cret-of-the-job"
    job = ("sh", "-c", f'test "$TOKEN" = {secret[:3]}"{secret[3:]}" && echo has it && sleep 2')
    agents.workers(2, **mpi.pod)
    launcher = launch(agents, mpi, *job, options=("-x", "TOKEN"), env={"TOKEN": secret})
    launcher.until_stage("running")
    seen = [agent.pod.exec(["ps", "axww", "-o", "args"]).stdout for agent in agents.all]
    assert launcher.wait() == 0
    assert launcher.out.decode().count("has it") == 2
    agents.assert_global()
    for text in (*seen, *(agent.log for agent in agents.all)):
        assert secret not in text


def test_env_09_no_noise_of_locales(agents: Agents, mpi: Mpi) -> None:
    """A locale that workers do not have is no reason for warnings of every session."""
    launcher = run(agents, mpi, "true", env={"LC_ALL": "xx_YY.UTF-8"})
    assert launcher.wait() == 0
    assert "setlocale" not in launcher.log


def test_stdin_goes_to_the_first_rank(agents: Agents, mpi: Mpi, tmp_path: Path) -> None:
    """What the launcher is fed, rank 0 reads to its end."""
    text = tmp_path / "stdin"
    text.write_bytes(b"line\n" * 100_000)
    agents.workers(2, **mpi.pod)
    job = ("sh", "-c", 'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 || wc -l')
    with text.open("rb") as stdin:
        launcher = launch(agents, mpi, *job, stdin=stdin)
    assert launcher.wait() == 0
    agents.assert_global()
    assert launcher.out.decode().split() == ["100000"]


def test_out_01_lines_stay_whole_and_have_an_owner(agents: Agents, mpi: Mpi) -> None:
    """Four ranks write long lines in pieces; with tags every line is whole and of one rank."""
    agents.workers(2, **mpi.pod)
    launcher = launch(
        agents, mpi, *mpi.python_program("pieces.py", "300", "1000"),
        hosts="w1:2,w2:2", options=("--tag-output",),
    )  # fmt: skip
    assert launcher.wait(120) == 0
    agents.assert_global()
    lines = launcher.out.decode().splitlines()
    assert len(lines) == 1200
    for rank in range(4):
        own = [line for line in lines if line.startswith(f"[{rank}] ")]
        assert own == [f"[{rank}] " + f"{rank}:{n:04d}:".ljust(1000, str(rank)) for n in range(300)]


def test_timestamps_and_files_per_rank(agents: Agents, mpi: Mpi, tmp_path: Path) -> None:
    """Each rank's output and errors in files of its own, whole; on the screen with the time."""
    options = ("--timestamp-output", "--tag-output", "--output-dir", str(tmp_path / "out"))
    job = ("sh", "-c", "echo to out; echo to err >&2; printf half")
    launcher = run(agents, mpi, *job, options=options)
    assert launcher.wait() == 0
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    for rank in (0, 1):
        assert re.search(rf"^{stamp} \[{rank}\] to out$", launcher.out.decode(), re.MULTILINE)
        assert re.search(rf"^{stamp} \[{rank}\] to err$", launcher.log, re.MULTILINE)
        assert (tmp_path / f"out/rank.{rank}.out").read_text() == "to out\nhalf"
        assert (tmp_path / f"out/rank.{rank}.err").read_text() == "to err\n"


def test_the_working_directory(agents: Agents, mpi: Mpi, tmp_path: Path) -> None:
    """Ranks start where they are told to; a directory that is not there is a clear fault."""
    there = run(agents, mpi, "pwd", options=("--wdir", str(tmp_path)))
    assert there.wait() == 0
    assert there.out.decode().splitlines() == [str(tmp_path)] * 2


def test_a_working_directory_that_is_missing(agents: Agents, mpi: Mpi) -> None:
    """It is the user's configuration: 78, with the directory and the host."""
    launcher = run(agents, mpi, "pwd", options=("--wdir", "/no/such/place"))
    assert launcher.wait() == 78
    assert "/no/such/place" in launcher.log.splitlines()[-1]


def test_the_launcher_takes_part(agents: Agents, mpi: Mpi) -> None:
    """A launcher that is itself a worker forks its own ranks; its exit code is theirs."""
    agents.workers(1, **mpi.pod)
    launcher = launch(agents, mpi, *mpi.python_program("ring.py"), hosts="launcher:1,w1:1")
    assert launcher.wait() == 0
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 launcher", "OK 1/2 w1"]


@pytest.mark.parametrize("here", [False, True], ids=["apart", "taking-part"])
def test_a_rank_of_an_own_mpirun_is_named(agents: Agents, mpi: Mpi, *, here: bool) -> None:
    """Its host and last words come from its own agent, on the launcher's host and elsewhere."""
    failing = "launcher" if here else "w2"
    job = f'test "$(hostname)" != {failing} || {{ echo boom-42 >&2; exit 7; }}'
    hosts = "launcher:1,w1:1" if here else "w1:1,w2:1"
    command = ("mpirun", "-np", "2", "sh", "-c", job)
    launcher = run(agents, mpi, *command, workers=1 if here else 2, hosts=hosts, quick=False)
    rank = f"rank {int(not here)} on {failing}"
    assert launcher.wait(60) == 7, launcher.log
    assert launcher.log.endswith(f"exit 7: {rank} ended with 7\n"), launcher.log
    assert f"[{rank}] boom-42" in launcher.log


def test_a_lost_worker_is_no_success(agents: Agents, mpi: Mpi) -> None:
    """Whatever mpirun makes of it, 241 and the worker's name; the other one is left clean."""
    _, second = agents.workers(2, "--retry-grace", "1", **mpi.pod)
    launcher = launch(agents, mpi, *mpi.python_program("endless_ring.py"))
    launcher.until_stage("running")
    eventually(lambda: _assert_up(launcher))
    second.pod.kill()
    assert launcher.wait(60) in (241, 243)
    assert "w2 was lost" in launcher.log
    agents.assert_global()


def _assert_up(launcher: Agent) -> None:
    assert launcher.out.count(b"up") == 2


def test_name_01_names_that_differ_after_the_dot(agents: Agents, mpi: Mpi) -> None:
    """Two names with one first label are two hosts."""
    names = [f"mpi-worker.{n}.foo.net" for n in (1, 2)]
    for number, name in enumerate(names, start=1):
        agents.worker(f"w{number}", aliases=(name,), **mpi.pod)
    hosts = ",".join(f"{name}:1" for name in names)
    launcher = launch(agents, mpi, *mpi.python_program("ring.py"), hosts=hosts)
    assert launcher.wait() == 0
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w1", "OK 1/2 w2"]


def test_slots_beyond_cpus_let_others_run(agents: Agents, mpi: Mpi) -> None:
    """RES-02: more ranks than slots only on request, and then they do not spin for ever."""
    agents.workers(2, **mpi.pod)
    refused = launch(agents, mpi, "true", options=("-np", "5"), name="refused")
    assert refused.wait() == 78
    assert re.search(r"w1 +slots 1", refused.log)
    agents.assert_global()
    agents.workers(2, **mpi.pod)
    allowed = launch(
        agents, mpi, *mpi.python_program("ring.py"),
        options=("-np", "5", "--oversubscribe"), name="allowed",
    )  # fmt: skip
    assert allowed.wait(60) == 0
    assert len(allowed.out.decode().splitlines()) == 5
    agents.assert_global()
