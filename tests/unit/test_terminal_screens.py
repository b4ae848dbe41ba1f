"""What is drawn on a real pty, as an emulator shows it: whole, in place, and gone afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping

import pytest

from mpiboot import log
from mpiboot.model.facts import Facts
from mpiboot.model.hosts import Host, Listed
from mpiboot.plan.gather import Decision, Reach, Seen, Terms, Verb
from mpiboot.plan.identity import Own
from mpiboot.plan.roster import Roster
from mpiboot.report.terminal import document, screen, telling
from mpiboot.report.terminal.region import Region
from mpiboot.report.terminal.telling import Watched
from mpiboot.report.terminal.waiting import WaitTable
from mpiboot.roles.gathering import Gathering
from mpiboot.roles.showing import Showing
from mpiboot.runtime.within import within
from tests.helpers import jobviews
from tests.helpers.eventually import eventually
from tests.helpers.terminals import Terminal, screen_of
from tests.unit.test_gathering import approach_through

XTERM = {"TERM": "xterm-256color"}
TERMS = Terms(expected=3, deadline_s=600.0, strikes=3)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal(80, 12)
    yield made
    made.close()


@contextlib.contextmanager
def speaking(terminal: Terminal) -> Iterator[Terminal]:
    """Let the agent's stderr be a terminal, and its log go there; pytest has its own for fixtures."""
    handlers, level, before = list(log.logger.handlers), log.logger.level, sys.stderr
    with os.fdopen(os.dup(terminal.slave), "w", encoding="utf-8") as stream:
        sys.stderr = stream
        try:
            log.configure("launcher")
            yield terminal
        finally:
            sys.stderr = before
            log.logger.handlers[:] = handlers
            log.logger.setLevel(level)


def roster() -> Roster:
    facts = Facts(cpus=8, memory_bytes=16 << 30, mpi="Open MPI 4.1.4")
    return Roster([
        Seen(host=Host(name="w0"), reach=Reach.READY, facts=facts, since_s=2.0, ready_after_s=2.0),
        Seen(host=Host(name="w1"), reach=Reach.REFUSED, detail="10.0.0.8:22"),
        Seen(host=Host(name="w2"), reach=Reach.KEY_REFUSED, detail="[bold]no[/bold] \x1b[2Jkey"),
    ])  # fmt: skip


def settled(terminal: Terminal, last: str) -> list[str]:
    """Return the screen once this stands on it."""

    def check() -> list[str]:
        rows = terminal.rows  # once: what is drawn next may be half there
        assert last in "\n".join(rows)
        return rows

    return eventually(check)


def test_the_wait_is_a_table_on_a_terminal(terminal: Terminal) -> None:
    """Header, then those in trouble with what they say, literally, then those with their facts."""
    with speaking(terminal):
        table = WaitTable("auto", XTERM)
        assert table.shown
        table.draw(roster(), TERMS, 5.0)
        rows = settled(terminal, "Open MPI")
        assert rows.pop(0) == ""
        assert rows[0].startswith("Waiting for workers: 1 of 3 ready")
        assert rows[0].endswith("5 s of 10m00s")
        assert rows[2].split() == ["HOST", "STATE", "SINCE", "SLOTS", "CPUS", "MEMORY", "MPI"]
        assert rows[3].split(maxsplit=4) == [
            "w2",
            "key",
            "refused",
            "5",
            r"s  [bold]no[/bold] \x1b[2Jkey",
        ]
        assert rows[4].split() == ["w1", "connection", "refused", "5", "s", "10.0.0.8:22"]
        assert rows[5].split() == [
            "w0",
            "ready",
            "3",
            "s",
            "8",
            "8",
            "16",
            "GiB",
            "Open",
            "MPI",
            "4.1.4",
        ]
        table.clear()


def test_the_log_stands_above_the_table_and_stays(terminal: Terminal) -> None:
    """Lines that are logged scroll above; the table is never torn, and nothing of it remains."""
    with speaking(terminal):
        table = WaitTable("auto", XTERM)
        for second in range(12):
            table.draw(roster(), TERMS, float(second))
            log.logger.info("line %d of the log", second)
        table.clear()
        log.logger.info("after the wait")
        rows = settled(terminal, "after the wait")
        kept = 12 - 7  # lines of the terminal less those of the table
        assert rows == [
            *(f"[mpiboot launcher] line {number} of the log" for number in range(12 - kept, 12)),
            "[mpiboot launcher] after the wait",
        ]
        for seen in terminal.seen:
            tables = [at for at, row in enumerate(seen) if row.startswith("Waiting for workers")]
            assert len(tables) <= 1
            assert not any("log" in row for at in tables for row in seen[at:])


def test_a_line_that_comes_in_pieces_is_never_torn(terminal: Terminal) -> None:
    """Of a line that comes in pieces nothing is shown before its end."""
    with speaking(terminal):
        table = WaitTable("auto", XTERM)
        table.draw(roster(), TERMS, 1.0)
        (stream,) = (
            one.stream for one in log.logger.handlers if isinstance(one, logging.StreamHandler)
        )
        stream.write("half a li")
        stream.write("ne\nand half an")
        rows = settled(terminal, "half a line")
        assert rows[0] == "half a line"
        assert rows[2].startswith("Waiting for workers")
        table.clear()
        assert settled(terminal, "and half an") == ["half a line", "and half an"]


@pytest.mark.parametrize(
    ("wanted", "env", "shown"),
    [
        ("auto", XTERM, True), ("on", XTERM, True), ("off", XTERM, False),
        ("auto", {"TERM": "dumb"}, False), ("on", {"TERM": "dumb"}, False), ("auto", {}, True),
    ],
)  # fmt: skip
def test_who_chooses_decides_whether_there_is_a_table(
    terminal: Terminal, wanted: str, env: Mapping[str, str], shown: bool
) -> None:
    with speaking(terminal):
        assert WaitTable(wanted, env).shown is shown


def test_without_a_terminal_there_is_none_unless_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not WaitTable("auto", XTERM).shown
    assert WaitTable("on", XTERM).shown


@pytest.mark.parametrize(
    ("env", "coloured", "bold"),
    [(XTERM, True, True), ({**XTERM, "NO_COLOR": "1"}, False, True), ({**XTERM, "NO_COLOR": ""}, True, True)],
)  # fmt: skip
def test_no_color_takes_the_colours(
    terminal: Terminal, env: Mapping[str, str], coloured: bool, bold: bool
) -> None:
    """https://no-color.org: when it is there and not empty; bold and dim are no colours."""
    with speaking(terminal):
        table = WaitTable("auto", env)
        table.draw(roster(), TERMS, 1.0)
        settled(terminal, "Open MPI")
        assert (b"\x1b[32m" in terminal.written) is coloured
        assert (b"\x1b[1m" in terminal.written) is bold
        table.clear()


@pytest.mark.parametrize(
    ("encoding", "env", "fits"),
    [
        ("utf-8", {}, True), ("utf-8", {"LANG": "C.UTF-8"}, True), ("utf-8", {"LANG": "C"}, False),
        ("utf-8", {"LANG": "de_DE.UTF-8", "LC_ALL": "POSIX"}, False), ("ascii", {}, False),
        ("latin-1", {"LANG": "de_DE"}, False), ("utf-8", {"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        ("utf-8", {"LC_CTYPE": "C.UTF-8"}, True), ("utf-8", {"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, True),
    ],
)  # fmt: skip
def test_what_is_not_unicode_gets_ascii(encoding: str, env: Mapping[str, str], fits: bool) -> None:
    """By the stream and by the locale; nothing of a job's texts can fail to be written."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    view = jobviews.scene("running", 1)
    view["from"] = "日本"
    telling.once(document.read(view), stream, env)
    said = raw.getvalue().decode(encoding)
    assert ("日本" in said) is fits
    assert (r"\u65e5\u672c" in said) is not fits
    assert fits or said.isascii()


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
@pytest.mark.parametrize("height", [5, 24, 60])
def test_the_table_fits_into_its_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int, height: int
) -> None:
    """In any size the first line is the header's, and nothing has scrolled away."""
    terminal = Terminal(columns, height)
    with os.fdopen(os.dup(terminal.slave), "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        table = WaitTable("auto", XTERM)
        hosts = [
            Seen(host=Host(name=f"train-worker-{at}"), reach=Reach.REFUSED) for at in range(1000)
        ]
        for _ in range(3):
            table.draw(Roster(hosts), Terms(expected=1000, deadline_s=60, strikes=3), 5.0)
        around = 6 if height > 8 else 4  # a low screen has no blank line and no bar
        rows = settled(terminal, f"and {1000 - (height - around)} more")
        assert "0/1,000" in rows[height > 8] or "0 of 1,000" in rows[height > 8]
        assert len(rows) == height - 1
        assert rows[-1].startswith("and ")
        table.clear()
        eventually(lambda: _assert_empty(terminal))
    terminal.close()


def _assert_empty(terminal: Terminal) -> None:
    assert terminal.rows == [""]


def test_who_writes_past_us_is_not_written_over(terminal: Terminal) -> None:
    """Lines of another process stand above the next drawing, whole, and the old one is gone."""
    with os.fdopen(os.dup(terminal.slave), "w", encoding="utf-8") as stream:
        region = Region(stream)
        for number in range(20):
            region.draw(["", "head", "row", f"row {number}"])
            os.write(terminal.slave, f"worker-0 | line {number}\n".encode())
        region.draw(["", "head", "last"])
        rows = settled(terminal, "last")
        assert rows[-3:] == ["", "head", "last"]
        assert rows[:-3] == [f"worker-0 | line {number}" for number in range(11, 20)]
        region.clear()


def test_a_terminal_that_is_stopped_stops_nobody(terminal: Terminal) -> None:
    """After Ctrl-S a frame is left out, and the wait goes on; after Ctrl-Q the next one is drawn."""
    with os.fdopen(os.dup(terminal.slave), "w", encoding="utf-8") as stream:
        region = Region(stream)
        region.draw(["before"])
        settled(terminal, "before")
        termios.tcflow(terminal.slave, termios.TCOOFF)
        for _ in range(100):
            region.draw(["stopped " * 9] * 20)
        termios.tcflow(terminal.slave, termios.TCOON)
        region.draw(["after"])
        assert settled(terminal, "after") == ["after"]
        assert b"stopped" not in terminal.written


def test_watching_takes_the_whole_screen_and_gives_it_back(terminal: Terminal) -> None:
    """What stood there before comes back; a larger window shows more at once."""
    with os.fdopen(os.dup(terminal.slave), "w", encoding="utf-8") as stream:
        stream.write("$ mpiboot status --watch\r\n")
        watched = Watched(stream, XTERM, 2.0)
        for scene in ("waiting", "running", "lost"):
            watched.show(document.read(jobviews.scene(scene, 1000)))
        rows = settled(terminal, "lost")
        assert len(rows) <= 12
        assert rows[0].startswith("train-launcher  Running")
        assert b"\x1b[?1049h\x1b[?25l" in terminal.written
        terminal.resize(80, 24)
        watched.resized()
        rows = settled(terminal, "Ctrl-C")
        assert rows[1] == "python3 train.py --epochs 3 --data /data/imagenet"
        assert len(rows) <= 24
        watched.close()
        watched.close()
        eventually(lambda: _assert_given_back(terminal))


def _assert_given_back(terminal: Terminal) -> None:
    assert terminal.written.endswith(b"\x1b[?25h\x1b[?1049l")


def test_watching_without_a_terminal_says_what_changes() -> None:
    """One line for each change of what is going on, none for figures that move; no escapes."""
    stream = io.StringIO()
    watched = Watched(stream, XTERM, 2.0)
    busy = jobviews.scene("running")
    for cpu in (10.0, 20.0, 30.0):
        busy["workers"][0]["cpu_percent"] = cpu
        watched.show(document.read(busy))
    watched.show(document.read(jobviews.scene("paused")))
    watched.show(document.read(jobviews.scene("succeeded")))
    watched.close()
    lines = stream.getvalue().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Running", "Paused"]
    assert "3 of 3 workers ready, 12 slots, 12 of 12 ranks run, CPU 802 %" in lines[0]
    assert "\x1b" not in stream.getvalue()


class Counted(WaitTable):
    """Counts how often it is drawn, and takes its time."""

    def __init__(self, cost_s: float) -> None:
        super().__init__("off", {})
        self.shown = True
        self.cost_s = cost_s
        self.now_s = 0.0
        self.drawn = 0

    def draw(self, *_seen: object) -> None:
        self.drawn += 1
        self.now_s += self.cost_s


def drawn_in(seconds: float, *, cost_s: float, changes: bool) -> int:
    table = Counted(cost_s)
    showing = Showing(table, lambda: table.now_s)
    hosts = roster()
    while table.now_s < seconds:
        if changes:
            hosts["w1"] = hosts["w1"]
        wanted_s = showing.show(hosts, TERMS, table.now_s)
        assert wanted_s > table.now_s - cost_s
        table.now_s += 0.01
    return table.drawn


def test_drawing_is_seldom_and_cheap() -> None:
    """Four times a second at most, once where nothing changes, and a twentieth of the time in all."""
    assert drawn_in(0.4, cost_s=0.0, changes=True) == 0  # it may be over by then
    assert 36 <= drawn_in(10.0, cost_s=0.0, changes=True) <= 40
    assert drawn_in(10.0, cost_s=0.0, changes=False) <= 11
    assert drawn_in(10.0, cost_s=0.1, changes=True) <= 6


def test_a_wait_on_a_terminal_leaves_nothing_behind(terminal: Terminal) -> None:
    """From the first host to the last: a table meanwhile, and an empty screen afterwards."""
    with speaking(terminal):

        async def comes(host: Host) -> Seen:
            await asyncio.sleep(0.9 if host.name == "w2" else 0.0)
            return Seen(host=host, reach=Reach.BY_AGENT, address="192.0.2.1")

        async def wait() -> Decision:
            own = Own(hostname="launcher", addresses=(), facts=Facts())
            found = Listed(hosts=tuple(Host(name=f"w{number}") for number in range(3)))
            return await Gathering(
                found, approach_through(comes), own, WaitTable("auto", XTERM)
            ).run()

        assert asyncio.run(within(15.0, wait())).verb is Verb.GO
        shown = next(seen[1:] for seen in terminal.seen if "Waiting for" in "".join(seen))
        assert shown[0].startswith("Waiting for workers: 2 of 3 ready")
        assert shown[3].startswith("w2    not tried yet")
        eventually(lambda: _assert_empty(terminal))


def test_nothing_is_loaded_before_something_is_drawn() -> None:
    """A launcher without a terminal waits, and tells, without a layout library in its memory."""
    code = """
import sys
from mpiboot.plan.gather import Terms
from mpiboot.plan.roster import Roster
from mpiboot.report.terminal.waiting import WaitTable
from mpiboot.roles import launcher
from mpiboot.roles.showing import Showing
showing = Showing(WaitTable("auto", {}), lambda: 0.0)
showing.show(Roster(), Terms(expected=1, deadline_s=9, strikes=3), 7.0)
showing.clear()
sys.exit(" ".join(name for name in sys.modules if name.split(".")[0] in ("rich", "pygments")) or 0)
"""
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_sizes_come_from_the_environment_or_the_terminal(terminal: Terminal) -> None:
    """COLUMNS and LINES go before what the terminal says; nonsense counts for nothing."""
    with os.fdopen(os.dup(terminal.slave), "w") as stream:
        assert screen.size(stream, {}) == (80, 12)
        assert screen.size(stream, {"COLUMNS": "100", "LINES": "x"}) == (100, 12)
        assert screen.size(stream, {"COLUMNS": "-3", "LINES": "999999"}) == (80, 1000)
    assert screen.size(io.StringIO(), {}) == (80, 24)


def test_the_emulator_of_these_tests_sees_what_moves() -> None:
    """The judge can tell a torn screen from a whole one."""
    assert screen_of("one\r\ntwo\x1b[1A\rX", 10, 3) == ["Xne", "two"]
