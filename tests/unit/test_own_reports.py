"""What ranks report under a launcher of the user's own: they explain its code, and never overrule it."""

from __future__ import annotations

from mpiboot.model.outcome import Outcome
from mpiboot.mpi import mpich, openmpi4
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan import verdict
from mpiboot.plan.clocks import Clock
from mpiboot.plan.evidence import Evidence
from mpiboot.plan.layout import Layout, Place
from mpiboot.plan.ranks import Book

PLACE = Place(name="w1", node="10.0.0.1", slots=2, address="10.0.0.1", port=22, user="", why="")
LAYOUT = Layout(places=(PLACE,), np=2)


def launched(book: Book, *codes: int) -> None:
    """Let a launch report that its ranks start and end; the last of them is heard first."""
    for rank in reversed(range(len(codes))):
        for event in ({"event": "started"}, {"event": "ended", "code": codes[rank]}):
            book.hear("w1", {**event, "rank": rank}, 1.0, 1.0, Clock())


def judged(book: Book, code: int, stderr: str = "", dialect: Dialect = openmpi4) -> Outcome:
    evidence = Evidence(
        code=code, halt=None, stderr=stderr, lost=(), leased=1, workers=1, ranks=book.ranks(),
        own=True,
    )  # fmt: skip
    return verdict.judge(evidence, dialect, LAYOUT)


def test_the_rank_that_explains_the_code_is_named() -> None:
    """As where we call mpirun, however many ranks the user has started."""
    book = Book(0, own=True)
    launched(book, 0, 0, 7)
    outcome = judged(book, 7)
    assert (outcome.code, outcome.message) == (7, "rank 2 on w1 ended with 7")


def test_a_code_of_the_scripts_own_stays() -> None:
    """It went past the rank's failure, and failed by itself; or it did not."""
    book = Book(0, own=True)
    launched(book, 7)
    assert (judged(book, 5).code, judged(book, 5).message) == (5, "the job ended with 5")
    assert judged(book, 0).code == 0


def test_a_launch_that_follows_counts_alone() -> None:
    """A rank of the launch before may have had the same code."""
    book = Book(0, own=True)
    launched(book, 0, 7)
    launched(book, 7)
    assert judged(book, 7).message == "rank 0 on w1 ended with 7"


def test_a_code_is_compared_as_ranks_end() -> None:
    """MPICH gives a signal raw."""
    book = Book(0, own=True)
    book.hear("w1", {"rank": 0, "event": "ended", "signal": 9}, 1.0, 1.0, Clock())
    stderr = (
        "=   EXIT CODE: 9\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
    )
    stderr = f"=   PID 47 RUNNING AT 10.0.0.1\n{stderr}"
    outcome = judged(book, 9, f"=   BAD TERMINATION\n{stderr}", mpich)
    assert (outcome.code, outcome.message) == (137, "rank 0 on w1 was killed by SIGKILL")


def test_a_rank_number_is_bounded() -> None:
    """Another machine says it."""
    book = Book(0, own=True)
    assert not book.hear("w1", {"rank": 1 << 40, "event": "started"}, 1.0, 1.0, Clock())
    assert not Book(0).hear("w1", {"rank": 0, "event": "started"}, 1.0, 1.0, Clock())
