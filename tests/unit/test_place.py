"""Places where several threads write lines: turns, order, and pieces that a pipe takes whole."""

from __future__ import annotations

import logging
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot import log
from mpiboot.model import rankset
from mpiboot.plan.frames import OWN, Record
from mpiboot.plan.screen import Screen
from mpiboot.report import place as module
from mpiboot.report import shown as shown_module
from mpiboot.report.place import Place, put
from mpiboot.report.recent import Recent
from mpiboot.report.shown import Look, Shown


class Written:
    """Keeps what was written, with its stream."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, bytes]] = []

    def put(self, stream: str, data: bytes) -> None:
        self.pieces.append((stream, data))

    def write(self, data: bytes) -> None:
        self.pieces.append(("", data))

    @property
    def text(self) -> bytes:
        return b"".join(data for _, data in self.pieces)


def test_pieces_of_one_stream_are_written_together_and_in_order() -> None:
    """As few writes as the order of the streams allows."""
    got = Written()
    place = Place(Screen(tag=True, stamp=False), got.put)
    streams = "ooeeo"
    place.show(Record(0, one, 0, b"%d\n" % number) for number, one in enumerate(streams))
    assert got.pieces == [
        ("o", b"[0] 0\n[0] 1\n"),
        ("e", b"[0] 2\n[0] 3\n"),
        ("o", b"[0] 4\n"),
    ]


def test_the_agents_line_gets_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever logs while a rank's line is open breaks it first, and the rank goes on with a plus."""
    got = Written()
    place = Place(Screen(tag=True, stamp=False), got.put)
    monkeypatch.setattr(log, "turn", place)
    handler = log._Handler()
    handler.stream = type(
        "", (), {"write": lambda _, text: got.write(text.encode()), "flush": id}
    )()
    place.show([Record(2, "e", 0, b"half")])
    handler.emit(logging.LogRecord("x", logging.INFO, "", 0, "agent", None, None))
    place.show([Record(2, "e", 0, b"way\n")])
    assert got.text == b"[2] half\nagent\n[2]+ way\n"


def test_lines_of_threads_do_not_mix() -> None:
    """Each thread's lines are whole, however they meet."""
    got = Written()
    place = Place(Screen(tag=True, stamp=False), got.put)

    def speak(rank: int) -> None:
        for number in range(200):
            place.show(
                [Record(rank, "o", 0, b"%d " % rank), Record(rank, "o", 0, b"%d\n" % number)]
            )

    threads = [threading.Thread(target=speak, args=(rank,)) for rank in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    lines = got.text.splitlines()
    assert sorted(lines) == sorted(
        b"[%d] %d %d" % (rank, rank, number) for rank in range(4) for number in range(200)
    )


@given(st.lists(st.integers(0, 9000), max_size=12), st.binary(max_size=20))
def test_lines_go_into_a_pipe_whole(sizes: list[int], rest: bytes) -> None:
    """What is written at once is whole lines of at most PIPE_BUF bytes, or one line that is longer."""
    written: list[bytes] = []
    data = b"".join(b"x" * size + b"\n" for size in sizes) + rest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "write", lambda _, piece: written.append(piece))
        put("o", data)
    assert b"".join(written) == data
    for piece in written[:-1]:
        assert piece.endswith(b"\n")
        assert len(piece) <= 4096 or piece.count(b"\n") == 1


def shown(
    monkeypatch: pytest.MonkeyPatch, recent: Recent, **look: object
) -> tuple[Shown, Written, Written]:
    """Make what shows output, with what comes to the screen and to the copy."""
    screen, copy = Written(), Written()
    monkeypatch.setattr(shown_module, "put", screen.put)
    monkeypatch.setattr(shown_module, "one_file", lambda: False)
    monkeypatch.setattr(log, "turn", log.NOBODY)  # it comes back after the test
    ranks = rankset.read(str(look.pop("ranks", "all")))
    return Shown(Look(ranks=ranks, **look), copy, recent), screen, copy  # type: ignore[arg-type]


def test_the_copy_has_all_ranks_and_lines_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that are hidden break no line on the screen; in the copy, which has them, they do."""
    made, screen, copy = shown(monkeypatch, Recent(), tag=True, ranks="1")
    assert made.wants(Record(0, "o", 0, b""))
    records = ((1, b"name? "), (0, b"hi\n"), (-1, b"who\n"), (1, b"me\n"), (OWN, b"mpirun: x\n"))
    made.show([Record(rank, "o", 0, data) for rank, data in records])
    made.end()
    assert screen.text == b"[1] name? \n[-1] who\n[1]+ me\nmpirun: x\n"
    assert copy.text == b"[1] name? \n[0] hi\n[-1] who\n[1]+ me\nmpirun: x\n"
    assert log.turn is log.NOBODY


def test_a_sink_that_is_full_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that cannot be written does not cost the screen its lines."""

    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    made, screen, copy = shown(monkeypatch, Recent(), tag=False)
    monkeypatch.setattr(copy, "write", full)
    made.show([Record(0, "o", 0, b"x\n")])
    made.end()
    assert screen.text == b"x\n"


@pytest.mark.parametrize("look", [{"tag": True}, {"json": True}], ids=["text", "json"])
def test_the_last_lines_for_people_are_text_of_all_ranks(
    monkeypatch: pytest.MonkeyPatch, look: dict[str, object]
) -> None:
    """Whatever the form on the screen, and whoever is hidden there; stdout is not among them."""
    recent = Recent()
    made, screen, _ = shown(monkeypatch, recent, ranks="none", **look)
    for record in (
        Record(0, "e", 0, b"half"), Record(1, "o", 0, b"out\n"), Record(1, "e", 0, b"err\n"),
        Record(OWN, "e", 0, b"mpirun: x\n"),
    ):  # fmt: skip
        made.show([record])
    made.end()
    assert recent.lines() == ["[0] half", "[1] err", "mpirun: x"]
    assert b"half" not in screen.text
