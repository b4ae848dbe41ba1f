"""Which limits are moved, what a job needs of them, and what is said of those that are too low."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError, ExitCode
from mpiboot.model.facts import Facts
from mpiboot.model.outcome import Outcome
from mpiboot.model.record import replace
from mpiboot.mpi import DIALECTS, mpich, openmpi4
from mpiboot.plan import agreement, limits, verdict
from mpiboot.plan import evidence as seen
from mpiboot.plan.evidence import Evidence
from mpiboot.plan.layout import Layout, Place
from mpiboot.plan.ranks import End, Ranks

MIB = 1 << 20
W1 = Place(name="w1", node="w1", slots=2, address="10.0.0.1", port=22, user="", why="")
W2 = replace(W1, name="w2", node="w2", address="10.0.0.2")
LAYOUT = Layout(places=(W1, W2), np=4)
GOOD = Facts(nofile=65536, memlock_bytes=-1, shm_bytes=64 * MIB)
OWN = Facts(nofile=1024)
LIMIT = st.integers(-1, 1 << 31)


@pytest.mark.parametrize(
    ("soft", "hard", "wanted"),
    [
        (24, 1024, 1024), (24, 512, 512), (512, 512, None), (1023, -1, 65536),
        (1024, 1 << 20, None), (65536, 65536, None), (1 << 20, 1 << 20, None),
        ((1 << 20) + 1, 1 << 30, 65536), (1 << 30, 1 << 30, 65536), (-1, -1, 65536),
    ],
)  # fmt: skip
def test_res_08_a_soft_limit_of_open_files_becomes_sane(
    soft: int, hard: int, wanted: int | None
) -> None:
    """Too low is raised as far as the hard one goes, absurdly high is lowered, the rest is the user's."""
    assert limits.softened(soft, hard) == wanted


@given(soft=LIMIT, hard=LIMIT)
def test_res_08_no_soft_limit_is_beyond_the_hard_one(soft: int, hard: int) -> None:
    """The kernel would refuse it; and what was moved needs not be moved again."""
    wanted = limits.softened(soft, hard)
    if wanted is not None:
        assert hard < 0 or wanted <= hard
        assert limits.softened(wanted, hard) is None


@pytest.mark.parametrize(
    ("soft", "workers", "ranks_here", "wanted"),
    [
        (1 << 20, 2, False, 1024), (-1, 1000, False, 8064), (1024, 2, False, None),
        (8064, 1000, False, None), (1024, 1000, False, None),
        (1 << 20, 2, True, 65536), (-1, 2, True, 65536), (65536, 2, True, None),
    ],
)  # fmt: skip
def test_res_08_an_mpirun_that_closes_each_number_has_few(
    soft: int, workers: int, ranks_here: bool, wanted: int | None
) -> None:
    """It is never raised, holds what mpirun opens, and stays wide where ranks inherit it."""
    assert limits.files_of_mpirun(soft, workers, ranks_here=ranks_here) == wanted


def told(
    *facts: Facts | None, own: Facts = OWN, layout: Layout = LAYOUT, dialect: Any = openmpi4
) -> Sequence[str]:
    return list(limits.warnings(layout, facts, own, dialect.NEEDS))


def test_nothing_is_said_of_limits_that_do() -> None:
    """Docker's defaults are enough for two ranks each; a plain sshd tells nothing."""
    assert told(GOOD, GOOD) == []
    assert told(None, Facts()) == []


def test_res_01_too_little_shared_memory_is_warned_of_with_what_is_needed() -> None:
    """Host, free size, need, and what to set; as this MPI needs it, and a lone rank needs none."""
    few = replace(GOOD, shm_bytes=MIB)
    (line,) = told(GOOD, few)
    assert line.startswith(
        "w2: 1 MiB of 1 MiB is free in /dev/shm, and MPI with 2 ranks may need 8 MiB; "
    )
    assert "--shm-size 16m" in line
    assert "8.5 MiB" in told(GOOD, few, dialect=mpich)[0]
    lone = Layout(places=(replace(W1, slots=1), replace(W2, slots=1)), np=2)
    assert told(few, few, layout=lone) == []
    assert "4.25 MiB" in told(few, few, layout=lone, dialect=mpich)[0]


def test_res_01_what_others_use_is_not_free() -> None:
    """A large /dev/shm that is full is too small."""
    full = replace(GOOD, shm_used_bytes=60 * MIB)
    assert "4 MiB of 64 MiB is free" in told(full, GOOD)[0]


def test_res_01_gpus_need_a_gigabyte() -> None:
    """As NCCL's documentation starts containers."""
    assert "2 ranks with 8 GPUs may need 1 GiB" in told(replace(GOOD, gpus=8), GOOD)[0]


def test_res_09_locked_memory_is_warned_of_where_there_is_rdma() -> None:
    """Host, value and option with devices; nothing without, or where there is no limit."""
    small = replace(GOOD, memlock_bytes=65536)
    (line,) = told(replace(small, rdma=True), replace(GOOD, rdma=True))
    assert line.startswith("w1: there are RDMA devices, and 64 KiB may be locked")
    assert "--ulimit memlock=-1" in line
    assert "LimitMEMLOCK" in line
    assert told(small, replace(small, rdma=False)) == []


def test_too_few_processes_are_warned_of_or_refused() -> None:
    """With the figure; where not even the bare ranks fit, the job is refused."""
    (line,) = told(replace(GOOD, pids=30, pids_used=20), GOOD)
    assert line.startswith("w1: 20 of 30 processes and threads are used, and 2 ranks need about 16")
    assert "--pids-limit" in line
    with pytest.raises(ConfigError, match=r"w1 may have 5 .* 2 ranks need 6 at the very least"):
        told(replace(GOOD, pids=5), GOOD)


def test_res_08_too_few_files_are_warned_of_with_what_is_needed() -> None:
    """On a worker for its ranks, on the launcher for its workers."""
    (line,) = told(replace(GOOD, nofile=24), GOOD)
    assert line.startswith("w1: 24 files may be open, and 80 are needed; ")
    (line,) = told(GOOD, GOOD, own=Facts(nofile=24))
    assert line.startswith("the launcher: 24 files may be open, and 72 are needed; ")


@given(np=st.integers(0, 100), slots=st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_no_host_is_thought_to_run_fewer_ranks_than_it_does(np: int, slots: list[int]) -> None:
    """Filled up by slot, or more than once where that is allowed."""
    layout = Layout(places=tuple(replace(W1, slots=one) for one in slots), np=np)
    assert sum(limits.ranks_of(one, layout) for one in slots) >= np


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_an_mpi_needs_is_found_by_what_it_is_called(dialect: Any) -> None:
    """The doctor knows an MPI by that alone."""
    major = dialect.NAME.rpartition(" ")[2]
    text = f"{dialect.NAME}.1.4" if major.isdigit() else f"{dialect.NAME} 4.0.2"
    assert agreement.needs(text) is dialect.NEEDS
    assert agreement.needs("Bad MPI 9") is None


def judged(end: End | None = None, **changes: Any) -> Outcome:
    ranks = Ranks(np=4, started={0: "w1"}, ends=(end,) if end else ())
    evidence = Evidence(
        code=1, halt=None, stderr="", lost=(), leased=2, workers=2, ranks=ranks, **changes
    )
    return verdict.judge(evidence, openmpi4, LAYOUT)


def test_res_01_a_bus_error_names_the_size_of_shared_memory() -> None:
    """The final report has /dev/shm, the host and the size; other signals have nothing of it."""
    shm = {"w1": 64 * MIB}
    outcome = judged(End(rank=0, host="w1", signal=7), shm_bytes=shm)
    assert outcome.code == 135
    assert "/dev/shm of w1 has 64 MiB" in outcome.message
    assert "--shm-size" in outcome.message
    assert "/dev/shm" not in judged(End(rank=0, host="w1", signal=11), shm_bytes=shm).message


def test_a_limit_of_processes_that_refused_some_is_named_with_the_failure() -> None:
    """Host and limit; nothing of it in a success."""
    said = {"w2": seen.Testimony(forks_refused=3, pids_limit=30)}
    outcome = judged(End(rank=0, host="w1", code=1), testimony=said)
    assert outcome.code == 1
    assert (
        "w2 came to its limit of 30 processes and threads, which refused 3 more" in outcome.message
    )
    assert "w2: its limit of processes and threads refused 3" in outcome.evidence
    here = seen.Testimony(forks_refused=1)
    assert "the launcher came to its limit" in judged(here=here).message


@pytest.mark.parametrize(
    "fault", [BlockingIOError(errno.EAGAIN, "try again"), RuntimeError("can't start new thread")]
)
def test_no_process_for_the_agent_is_no_fault_of_its_own(fault: Exception) -> None:
    """One line with what to change, and no traceback."""
    outcome = verdict.of_error(fault)
    assert outcome.code == ExitCode.LAUNCH_FAILED
    assert "--pids-limit" in outcome.message
    assert verdict.of_error(RuntimeError("another")).code == ExitCode.INTERNAL
