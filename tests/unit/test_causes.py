"""Why ranks ended, in words; and their last lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.link import messages
from mpiboot.model.outcome import Failure, Fault, Outcome
from mpiboot.mpi import mpich
from mpiboot.plan import causes, lastwords, verdict
from mpiboot.plan.clocks import Clock
from mpiboot.plan.evidence import Evidence
from mpiboot.plan.layout import Layout, Place
from mpiboot.plan.ranks import Book, End

MIB = 1 << 20
PLACE = Place(name="w1", node="10.0.0.1", slots=2, address="10.0.0.1", port=22, user="", why="")
LAYOUT = Layout(places=(PLACE,), np=2)


def killed(*, limit: int | None, peak: int | None) -> End:
    return End(rank=0, host="w1", signal=9, oom=True, limit=limit, peak=peak)


def test_res_06_an_oom_kill_is_named_with_its_limit() -> None:
    """A container that came to its own limit: the user's to change."""
    for peak in (100 * MIB, 91 * MIB, None):
        end = killed(limit=100 * MIB, peak=peak)
        failure = causes.failure(end)
        assert failure.message == "rank 0 on w1 was OOM-killed (limit 100 MiB)"
        assert failure.signal == 9
        assert causes.fault(end) is Fault.USER


def test_an_oom_kill_far_from_the_limit_is_the_machines() -> None:
    """Others have used the memory: another machine may do."""
    for end in (killed(limit=100 * MIB, peak=30 * MIB), killed(limit=None, peak=30 * MIB)):
        assert "the machine ran out of memory: the container had used 30 MiB at most" in (
            causes.failure(end).message
        )
        assert causes.fault(end) is Fault.INFRASTRUCTURE
    assert causes.failure(killed(limit=None, peak=None)).message.endswith("out of memory)")


def test_a_kill_that_was_no_oom_is_not_called_one() -> None:
    """Without the kernel's count it is a SIGKILL like any other."""
    end = End(rank=0, host="w1", signal=9, limit=MIB, peak=MIB)
    assert causes.failure(end).message == "rank 0 on w1 was killed by SIGKILL"
    assert causes.fault(end) is Fault.USER


def test_sizes() -> None:
    """People's units."""
    assert [causes.size(n) for n in (0, 1023, 1024, 1536, 3 << 30, 5 << 50)] == [
        "0 B", "1023 B", "1 KiB", "1.5 KiB", "3 GiB", "5120 TiB",
    ]  # fmt: skip


def judged(book: Book, code: int, stderr: str = "") -> Outcome:
    evidence = Evidence(
        code=code, halt=None, stderr=stderr, lost=(), leased=1, workers=1, ranks=book.ranks()
    )
    return verdict.judge(evidence, mpich, LAYOUT)


def test_an_oom_kill_decides_the_verdict() -> None:
    """137 is kept; the class is that of the cause."""
    for limit, fault in ((100 * MIB, Fault.USER), (500 * MIB, Fault.INFRASTRUCTURE)):
        book = Book(2)
        body = {"event": "ended", "rank": 0, "signal": 9, "oom": True, "limit": limit,
                "peak": 100 * MIB}  # fmt: skip
        book.hear("w1", messages.rank_message(body).body, 1.0, 1.0, Clock())
        outcome = judged(book, 137)
        assert (outcome.code, outcome.fault) == (137, fault)
        assert "rank 0 on w1 was OOM-killed" in outcome.message


def test_exit_04_the_first_failure_keeps_its_last_lines() -> None:
    """What the first rank said is recalled before the exit line, however much others say."""
    book = Book(2)
    first = {"event": "ended", "rank": 1, "code": 3, "time_ms": 1000, "stderr": "boom-42\n"}
    then = {"event": "ended", "rank": 0, "code": 1, "time_ms": 1100, "stderr": "noise\n" * 200}
    book.hear("w1", messages.rank_message(then).body, 1.0, 2.0, Clock())
    book.hear("w1", messages.rank_message(first).body, 1.0, 2.0, Clock())
    outcome = judged(book, 3)
    assert (outcome.code, outcome.failures[0].stderr) == (3, ("boom-42",))
    assert lastwords.recalled(outcome) == ["[rank 1 on w1] boom-42"]
    assert outcome.failures[0].to_json()["stderr"] == ["boom-42"]


def test_an_abort_that_mpirun_did_not_read_is_found_in_the_ranks_own_words() -> None:
    """MPICH may end its job before it has read why: the rank's last words were kept."""
    words = (
        "Abort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 7)\n"
    )
    book = Book(2)
    for rank, said in ((0, ""), (1, "Traceback\n" + words)):
        body = {"event": "ended", "rank": rank, "signal": 9, "time_ms": 1000 + rank, "stderr": said}
        book.hear("w1", messages.rank_message(body).body, 1.0, 2.0, Clock())
    outcome = judged(book, 7)
    assert (outcome.code, outcome.failures[0].rank) == (7, 1)
    assert outcome.failures[0].stderr == ("Traceback", words.strip())


def test_nothing_is_recalled_of_success_or_of_a_failure_without_a_rank() -> None:
    """There is nothing to be said once more."""
    failure = Failure(message="w1 was lost", host="w1", stderr=("x",))
    for outcome in (
        Outcome(code=0, fault=Fault.NONE, message=""),
        Outcome(code=241, fault=Fault.INFRASTRUCTURE, message="", failures=(failure,)),
    ):
        assert lastwords.recalled(outcome) == []


def test_last_lines_are_what_a_person_saw() -> None:
    """Colours and control characters go, of a progress bar its last state stays, empty lines go."""
    text = "\x1b[31merror\x1b[0m\n\n 10 %\r 20 %\r\nbell\a end\r\n\x1b]0;title\x07half"
    assert lastwords.lines(text) == ("error", " 20 %", "bell  end", "half")
    assert lastwords.lines("\n".join(map(str, range(100)))) == tuple(map(str, range(80, 100)))
    assert lastwords.lines(None) == lastwords.lines(7) == ()


@given(st.text(max_size=6000) | st.integers() | st.none())
def test_last_lines_are_bounded(text: object) -> None:
    """A wrapper's words are another machine's: printable, at most 20 lines and 4 KiB."""
    lines = lastwords.lines(text)
    assert len(lines) <= 20
    assert sum(len(line.encode(errors="replace")) + 1 for line in lines) <= 4096
    assert all(line.isprintable() and line for line in lines)
    message = messages.rank_message({"stderr": text, "rank": 1})
    assert len(message.encode()) < messages.MAX_LINE
