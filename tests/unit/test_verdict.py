"""Evidence decides, not mpirun's status alone."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError, ExitCode, NotReadyError
from mpiboot.model.outcome import Fault, Outcome
from mpiboot.mpi import DIALECTS, openmpi4
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan import evidence as seen
from mpiboot.plan import verdict
from mpiboot.plan.evidence import Cause, Evidence, Halt, Lost
from mpiboot.plan.layout import Layout, Place
from mpiboot.plan.ranks import End, Ranks
from tests.helpers.quickly import quickly

PLACE = Place(name="my_w_1", node="10.0.0.1", slots=2, address="10.0.0.1", port=22, user="", why="")
LAYOUT = Layout(places=(PLACE,), np=2)
KILLED = (
    "mpirun noticed that process rank 1 with PID 61 on node 10.0.0.1 exited on signal 9 (Killed)."
)
NO_START = "ORTE was unable to reliably start one or more daemons.\n"


def judge(
    code: int,
    *,
    stderr: str = "",
    lost: tuple[Lost, ...] = (),
    stop: int | None = None,
    leased: int = 1,
) -> Outcome:
    halt = None if stop is None else Halt(cause=Cause.SIGNAL, signal=stop)
    evidence = Evidence(code=code, halt=halt, stderr=stderr, lost=lost, leased=leased, workers=1)
    return verdict.judge(evidence, openmpi4, LAYOUT)


def test_success_is_success() -> None:
    """0, nothing lost: 0."""
    outcome = judge(0)
    assert (outcome.code, outcome.fault, outcome.ran) == (0, Fault.NONE, True)


def test_an_elastic_job_decides_itself() -> None:
    """A worker that it lost and went on without changes no code, and is told."""
    for code in (0, 3):
        left = (Lost(host="w2", why="silent for 15 s"),)
        evidence = Evidence(
            code=code, halt=None, stderr="", lost=(), leased=1, workers=1, left=left
        )
        outcome = verdict.judge(evidence, openmpi4, LAYOUT)
        assert outcome.code == code
        assert any("w2 was lost" in one and "silent" in one for one in outcome.evidence)


def test_the_jobs_code_passes_through() -> None:
    """A code that no evidence contradicts is the job's own."""
    for code in (1, 2, 7, 32, 64, 255):
        outcome = judge(code)
        assert (outcome.code, outcome.fault) == (code, Fault.USER)


def test_the_first_failing_rank_is_named_by_the_users_name_for_its_host() -> None:
    """People read `my_w_1`, not the address that mpirun was given."""
    outcome = judge(137, stderr=KILLED)
    assert outcome.code == 137
    assert outcome.message == "rank 1 on my_w_1 was killed by signal 9"
    assert outcome.failures[0].host == "my_w_1"


def test_a_kill_without_words_suggests_memory() -> None:
    """SIGKILL is most often the OOM killer's."""
    assert "out of memory?" in judge(137).message


def test_false_success_is_impossible() -> None:
    """Mpirun says 0, a worker was lost: 243, and the worker is named."""
    outcome = judge(0, lost=(Lost(host="w2", why="silent for 15 s"),))
    assert outcome.code == ExitCode.FALSE_SUCCESS
    assert "w2 was lost: silent for 15 s" in outcome.message


def test_a_lost_worker_is_the_root_cause() -> None:
    """What mpirun says afterwards comes second."""
    outcome = judge(255, stderr=KILLED, lost=(Lost(host="w2", why="gone"),))
    assert outcome.code == ExitCode.WORKER_LOST
    assert outcome.failures[0].host == "w2"
    assert outcome.failures[1].rank == 1


def test_daemons_that_did_not_start() -> None:
    """242, and no rank ran."""
    outcome = judge(255, stderr=NO_START)
    assert (outcome.code, outcome.ran) == (ExitCode.LAUNCH_FAILED, False)


def test_a_stop_is_told_by_its_signal() -> None:
    """Whatever mpirun made of it, the code is 128 + n."""
    outcome = judge(1, stop=15, lost=(Lost(host="w2", why="gone"),))
    assert (outcome.code, outcome.fault) == (143, Fault.SIGNAL)


def test_plain_workers_cannot_testify_and_that_is_said() -> None:
    """No evidence is not the same as good evidence."""
    assert any("1 without a lease" in line for line in judge(0, leased=0).evidence)


def test_faults_of_the_agent_keep_their_codes() -> None:
    """An error's class owns the code; a bug is 250."""
    assert verdict.of_error(ConfigError("x")).code == ExitCode.CONFIG
    assert verdict.of_error(NotReadyError("x")).fault is Fault.INFRASTRUCTURE
    assert verdict.of_error(KeyError("x")).code == ExitCode.INTERNAL
    assert verdict.of_stop(15, "waiting").code == 143


@given(
    st.integers(0, 255), st.text(max_size=300), st.lists(st.text(min_size=1, max_size=9), max_size=3),
    st.one_of(st.none(), st.sampled_from([1, 2, 3, 15])),
)  # fmt: skip
def test_a_recorded_failure_never_becomes_0(
    code: int, stderr: str, lost: list[str], stop: int | None
) -> None:
    """Neither a lost worker nor a stop nor a status ends as success."""
    outcome = judge(code, stderr=stderr, lost=tuple(Lost(host=h, why="x") for h in lost), stop=stop)
    if code or lost or stop is not None:
        assert outcome.code != 0
    else:
        assert outcome.code == 0
    assert outcome.message


HOSTS = ("w1", "w2")
ENDS = st.builds(
    End,
    rank=st.integers(0, 3),
    host=st.sampled_from(HOSTS),
    code=st.one_of(st.none(), st.integers(0, 255)),
    signal=st.one_of(st.none(), st.sampled_from([6, 9, 11, 15])),
    why=st.sampled_from(["", "", "", "other mpi", "not found"]),
    oom=st.booleans(),
    limit=st.one_of(st.none(), st.integers(1, 1 << 40)),
    peak=st.one_of(st.none(), st.integers(1, 1 << 40)),
)
RANKS = st.builds(
    Ranks,
    np=st.just(4),
    started=st.dictionaries(st.integers(0, 3), st.sampled_from(HOSTS)),
    ends=st.lists(ENDS, max_size=4),
)
EVIDENCE = st.builds(
    Evidence,
    code=st.sampled_from([0, 0, 1, 3, 137, 143, 205, 255]),
    halt=st.one_of(
        st.none(),
        st.builds(
            Halt, cause=st.sampled_from(Cause), signal=st.sampled_from([1, 2, 3, 15]),
            host=st.sampled_from(HOSTS), detail=st.just("no output"),
        ),
    ),
    stderr=st.one_of(st.sampled_from(["", KILLED, NO_START]), st.text(max_size=100)),
    lost=st.lists(
        st.builds(Lost, host=st.sampled_from(HOSTS), why=st.just("gone"), late=st.booleans()),
        max_size=2,
    ),
    leased=st.integers(0, 2),
    workers=st.just(2),
    ranks=st.one_of(st.just(Ranks()), RANKS),
    expected=st.just(HOSTS),
    start_s=st.one_of(st.none(), st.just(120.0)),
    lingered=st.booleans(),
    taken_down=st.booleans(),
    own=st.booleans(),
    testimony=st.dictionaries(
        st.sampled_from(HOSTS), st.builds(seen.Testimony, sessions=st.integers(0, 2))
    ),
    warned_s=st.one_of(st.none(), st.just(3.0)),
)  # fmt: skip


@given(EVIDENCE)
def test_no_evidence_of_a_failure_is_ever_turned_into_success(evidence: Evidence) -> None:
    """Whatever comes together: 0 needs that nothing at all speaks against it; a code fits a byte."""
    outcome = verdict.judge(evidence, openmpi4, LAYOUT)
    against = [
        evidence.code != 0 and not evidence.lingered,
        any(not one.late for one in evidence.lost),
        evidence.halt is not None,
        evidence.start_s is not None,
        bool(evidence.ranks.failures)
        and not evidence.own,  # the user's own mpirun has the last word
        bool(evidence.missing),
        bool(evidence.unvisited),
    ]
    if any(against):
        assert outcome.code != 0
        assert outcome.fault is not Fault.NONE
    assert 0 <= outcome.code <= 255
    assert (outcome.code == 0) == (outcome.fault is Fault.NONE)
    assert outcome.message
    if outcome.code == 0:
        assert not outcome.failures


def test_an_abort_is_placed_where_its_rank_runs() -> None:
    """Mpirun tells the rank that aborts, and the rank's wrapper told where it is."""
    stderr = "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 5."
    ranks = Ranks(np=2, started={0: "my_w_1", 1: "w2"}, ends=())
    evidence = Evidence(code=5, halt=None, stderr=stderr, lost=(), leased=2, workers=2, ranks=ranks)
    outcome = verdict.judge(evidence, openmpi4, LAYOUT)
    assert (outcome.code, outcome.failures[0].host) == (5, "w2")
    assert outcome.message == "rank 1 on w2 called MPI_Abort(5)"


@pytest.mark.parametrize("started", [{0: "my_w_1", 1: "w2"}, {0: "my_w_1"}, {}])
def test_a_rank_whose_report_never_came_is_first_where_the_others_were_only_killed(
    started: dict[int, str],
) -> None:
    """Its worker's agent was stopped; mpirun has seen its code, and has killed the other one for it."""
    stderr = (
        "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
        "the job to be terminated. The first process to do so was:\n\n"
        "  Process name: [[40297,1],1]\n  Exit code:    7\n"
    )
    killed = End(rank=0, host="my_w_1", signal=9)
    ranks = Ranks(np=2, started=started, ends=(killed,))
    evidence = Evidence(code=7, halt=None, stderr=stderr, lost=(), leased=2, workers=2, ranks=ranks)
    outcome = verdict.judge(evidence, openmpi4, LAYOUT)
    assert (outcome.code, outcome.failures[0].rank) == (7, 1)
    assert outcome.failures[1].rank == 0


def test_a_full_disk_is_no_fault_of_the_agent() -> None:
    """One line that names the place, and the code of a configuration that cannot work."""
    outcome = verdict.of_error(OSError(errno.ENOSPC, "No space left on device", "/run/x"))
    assert (outcome.code, outcome.fault) == (ExitCode.CONFIG, Fault.CONFIGURATION)
    assert outcome.message.startswith("No space left on device: /run/x;")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: str(one.NAME))
@pytest.mark.parametrize(
    "stderr",
    [
        "x" * 65_000,  # a regular expression for a path went back and forth in it, for 8 s
        "Process name: [prterun-" + "-1" * 30_000,
        f"Process name: [[1,1],{'1' * 5000}]\n  Exit code:    {'9' * 5000}\n",
        f"Process name: [prterun-l-1@1,1]\n  Exit code:    {'9' * 5000}\n",
        f"mpirun noticed that process rank {'1' * 5000} with PID 1 on node w exited on signal {'9' * 5000}",
        f"MPI_ABORT was invoked on rank 1 in x with errorcode -{'9' * 5000}",
        f"Abort({'9' * 5000}) on node 1 (rank 1 in comm 0): application called MPI_Abort",
        f"= PID {'1' * 5000} RUNNING AT w1 = EXIT CODE: {'9' * 5000}",
        "= RANK 1 PID 1 RUNNING AT w1 = KILLED BY SIGNAL: 128",
        "= PID 1 RUNNING AT w1 = EXIT CODE: 9 THE EXIT STRING: Killed (signal 128)",
        "MPI_ABORT was invoked on rank 1 in x with errorcode 256",
    ],
)  # fmt: skip
def test_no_words_take_long_or_make_a_success(stderr: str, dialect: Dialect) -> None:
    """Ranks may print anything: numbers without an end, codes that a status cannot hold, mpirun's own words."""
    started = Ranks(np=2, started={0: "w1"}, ends=(End(rank=0, host="w1", signal=9),))
    for reports in (Ranks(np=2), started):
        evidence = Evidence(
            code=1, halt=None, stderr=stderr, lost=(), leased=1, workers=1, ranks=reports
        )
        with quickly():
            outcome = verdict.judge(evidence, dialect, LAYOUT)
        assert 0 < outcome.code < 256
