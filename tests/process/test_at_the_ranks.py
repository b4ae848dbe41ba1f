"""What happens at the ranks, on each MPI: who failed first and its last words, memory, warnings, hangs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpiboot.errors import ExitCode
from tests.helpers import memorycgroup
from tests.helpers.agents import Agent, Agents
from tests.helpers.eventually import eventually
from tests.helpers.mpis import MPIS, OPENMPI4, Mpi

PROGRAMS = Path(__file__).with_name("programs")
_SLACK_S = 2.0  # between what the job has written and our reading of it
TRIED = [one for one in MPIS if one.name in ("openmpi4", "mpich")]


def program(mpi: Mpi, name: str, *words: str) -> tuple[str, ...]:
    """Return the command line of a program in tests/process/programs."""
    return (str(mpi.python), str(PROGRAMS / name), *words)


def launch(agents: Agents, mpi: Mpi, *command: str, **spec: Any) -> Agent:
    spec.setdefault("hosts", "w1:1,w2:1")
    options = (*mpi.options, *spec.pop("options", ()))
    env = {**mpi.pod.get("env", {}), **spec.pop("env", {})}
    return agents.launcher(*command, options=options, env=env, **spec)


@pytest.fixture(params=MPIS, ids=str)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI that is here."""
    chosen: Mpi = request.param
    chosen.need()
    return chosen


def test_exit_04_the_first_failure_stands_at_the_end(
    agents: Agents, mpi: Mpi, tmp_path: Path
) -> None:
    """Rank, host, code and its own words are in the last 30 lines and in the termination message."""
    agents.workers(2, **mpi.pod)
    message = tmp_path / "termination"
    message.touch()  # as the kubelet does
    launcher = launch(
        agents, mpi, *program(mpi, "first_failure.py"), hosts="w1:2,w2:2",
        options=("--termination-log", str(message)),
    )  # fmt: skip
    assert launcher.wait(60) == 3
    agents.assert_global()
    *_, said, last = launcher.log.splitlines()
    assert said.endswith("[rank 2 on w2] boom-42")
    assert " exit 3: rank 2 on w2 ended with 3" in last
    first = json.loads(message.read_text())["failures"][0]
    assert (first["rank"], first["host"], first["code"]) == (2, "w2", 3)
    assert first["stderr"] == ["boom-42"]


def test_fail_04_who_raised_is_named_with_its_exception(agents: Agents, mpi: Mpi) -> None:
    """The last line of the traceback is there once more, also where the MPI has killed the wrapper."""
    agents.workers(2, **mpi.pod)
    launcher = launch(agents, mpi, *mpi.python_program("fate.py", "raise"))
    assert launcher.wait(60) == 1
    agents.assert_global(raising=[launcher])
    *said, last = launcher.log.splitlines()[-4:]
    assert any(one.endswith("[rank 1 on w2] ValueError: this rank has had enough") for one in said)
    assert " exit 1: rank 1 on w2 " in last


@pytest.fixture
def limited() -> Iterator[Path]:
    """A memory cgroup with a limit of 100 MiB."""
    try:
        with memorycgroup.made(100 << 20) as group:
            yield group
    except memorycgroup.NotHereError as fault:
        pytest.skip(str(fault))


def test_res_06_an_oom_kill_is_called_one(agents: Agents, mpi: Mpi, limited: Path) -> None:
    """137, with the host and the limit; the other worker leaves as after any failure."""
    agents.worker("w1", agent=memorycgroup.inside(limited), **mpi.pod)
    agents.worker("w2", **mpi.pod)
    launcher = launch(agents, mpi, *program(mpi, "greedy.py"))
    assert launcher.wait(90) == 137
    last = launcher.log.splitlines()[-1]
    assert "exit 137: rank 0 on w1 was OOM-killed (limit 100 MiB)" in last
    assert launcher.status["outcome"]["fault"] == "user"
    agents.assert_global()


@pytest.mark.parametrize("how", ["finalize", "at-once"])
@pytest.mark.parametrize("target", ["launcher", "w1"])
def test_life_04_all_ranks_save_their_work(agents: Agents, mpi: Mpi, how: str, target: str) -> None:
    """One has saved long before the other and has ended: mpirun does not end the other for it."""
    workers = agents.workers(2, **mpi.pod)
    launcher = launch(
        agents, mpi, *program(mpi, "saving.py", how),
        options=("--stop-grace", "40", "--checkpoint-grace", "20"),
    )  # fmt: skip
    _until_up(launcher)
    (launcher if target == "launcher" else workers[0]).pod.send(15)
    assert launcher.wait(60) == (143 if target == "launcher" else 241)
    _assert_said(launcher, b"warned", 2)
    _assert_said(launcher, b"saved", 2)
    agents.assert_global()


def _until_up(launcher: Agent) -> None:
    """Wait until both ranks have said so."""

    def check() -> None:
        ended = launcher.pod.poll()
        if ended is not None:
            raise RuntimeError(f"the launcher ended with {ended}")
        _assert_said(launcher, b"up", 2)

    eventually(check, 60)


def _assert_said(launcher: Agent, word: bytes, count: int) -> None:
    assert launcher.out.count(word) == count  # an MPI may put what two ranks write on one line


QUIET = "import time; time.sleep(12)"


@pytest.fixture(params=TRIED, ids=str)
def tried(request: pytest.FixtureRequest) -> Mpi:
    """One Open MPI and one MPICH."""
    chosen: Mpi = request.param
    chosen.need()
    return chosen


def test_fail_06_a_job_that_hangs_is_ended_with_its_stacks(agents: Agents, tried: Mpi) -> None:
    """247, the rank that sleeps is named, and the log shows where both of them stand."""
    agents.workers(2, **tried.pod)
    launcher = launch(
        agents, tried, *program(tried, "hanging.py"), options=("--stall-timeout", "6"),
    )  # fmt: skip
    _until_up(launcher)
    begun = time.monotonic()
    assert launcher.wait(90) == ExitCode.STALLED
    assert 6 <= time.monotonic() - begun + _SLACK_S < 60
    agents.assert_global()
    ended = {one["type"]: one for one in launcher.status["conditions"]}["Failed"]
    assert (ended["status"], ended["reason"]) == ("True", "Stalled")
    assert re.search(
        r"exit 247: no output for \d+ s and no progress of rank 1 on w2",
        launcher.log.splitlines()[-1],
    )
    for rank, host in ((0, "w1"), (1, "w2")):
        lines = [line for line in launcher.log.splitlines() if f"[rank {rank} on {host}]" in line]
        assert "process " in lines[0]
        assert len(lines) >= 2
        assert re.search(r"#0 |Thread|thread \d+ .* state [SRD]", "\n".join(lines[1:]))


def test_who_computes_in_silence_is_no_hang(agents: Agents, tried: Mpi) -> None:
    """All ranks are busy for three times the time, and the job ends well."""
    agents.workers(2, **tried.pod)
    launcher = launch(
        agents, tried, *program(tried, "busy.py"), options=("--stall-timeout", "4"),
    )  # fmt: skip
    assert launcher.wait(90) == 0
    agents.assert_global()


def test_a_quiet_job_is_left_alone_by_default(agents: Agents) -> None:
    """Nobody asked for it: silence without any progress is the job's own business."""
    agents.workers(2)
    launcher = launch(agents, OPENMPI4, "/usr/bin/python3", "-c", QUIET)
    assert launcher.wait(90) == 0
    agents.assert_global()
