"""Whatever a job's machines say, each line stays on its line, and within the screen."""

from __future__ import annotations

import json
from typing import Any

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from mpiboot.model.facts import Facts
from mpiboot.model.hosts import Host
from mpiboot.plan.gather import Reach, Seen
from mpiboot.report.terminal import amounts, awaiting, document, job, left
from mpiboot.report.terminal.awaiting import Awaited, Wait
from mpiboot.report.terminal.grid import Page
from mpiboot.report.terminal.literal import clipped, literal, named
from tests.helpers import jobviews

WIDTHS = (20, 40, 80, 200)
HEIGHTS = (5, 6, 10, 24, 60)
EVIL = "w\x1b[2J\x1b[31m\r\n\x07\x9b2J\u202e[red]x[/red]\u0301\U0001f1e9\U0001f1ea\t日本é"
TEXTS = st.one_of(st.text(max_size=60), st.just(EVIL), st.text("日本漢字한국어ＡＢ", max_size=60))
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
PAGES = st.builds(
    Page,
    width=st.one_of(st.sampled_from(WIDTHS), st.integers(10, 220)),
    height=st.integers(5, 60),
    unicode=st.booleans(),
)


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


def assert_within(lines: list[Text], page: Page) -> None:
    """A real screen of this width shows each line as one row, and nothing has acted on the cursor."""
    for line in plain(lines):
        assert cell_len(line) <= page.width, line
        assert line.isascii() or page.unicode, line
        screen = pyte.Screen(page.width, 3)
        pyte.Stream(screen).feed(line)
        assert screen.cursor.y == 0, line
        assert screen.cursor.x == cell_len(line), line
        assert screen.display[1:] == [" " * page.width] * 2


def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """Return a document in which any field may be anything."""
    if draw(st.integers(0, 11)) == 0:
        return draw(JSON)
    if isinstance(value, dict):
        return {key: spoiled(draw, one) for key, one in value.items()}
    if isinstance(value, list):
        return [spoiled(draw, one) for one in value]
    return draw(TEXTS) if isinstance(value, str) and draw(st.booleans()) else value


@st.composite
def documents(draw: st.DrawFn) -> Any:
    scene = draw(st.sampled_from(jobviews.SCENES))
    return spoiled(draw, jobviews.scene(scene, draw(st.integers(1, 4))))


@settings(max_examples=120, deadline=None)
@given(documents(), PAGES)
def test_no_document_leaves_its_screen(view: Any, page: Page) -> None:
    """Any document, with anything in it, fits into any screen, whole and in part."""
    read = document.read(view)
    fitting = job.fitting(read, page, "every 2 s")
    assert len(fitting) <= page.height
    assert_within(fitting, page)
    assert_within(job.whole(read, page), page)
    assert job.sentence(read, page).isprintable()


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(TEXTS, st.sampled_from(Reach), TEXTS, TEXTS), max_size=8),
    PAGES, st.integers(0, 5000), TEXTS,
)  # fmt: skip
def test_no_wait_leaves_its_screen(
    hosts: list[tuple[str, Reach, str, str]], page: Page, more: int, answer: str
) -> None:
    """The same for the wait, whatever the hosts are called and say."""
    rows = [
        Awaited(
            seen=Seen(
                host=Host(name=name), reach=reach, detail=detail, since_s=3.0,
                facts=Facts(cpus=2.5, gpus=4, memory_bytes=5 << 30, mpi=mpi) if reach.ready else None,
            ),
            slots=4,
        )
        for name, reach, detail, mpi in hosts
    ]  # fmt: skip
    wait = Wait(
        ready=len(hosts) // 2, expected=len(hosts) + more, known=len(hosts) + more, waited_s=12.0,
        deadline_s=600.0, answer=answer, rows=rows,
    )  # fmt: skip
    lines = awaiting.lines(wait, page)
    assert len(lines) <= page.height
    assert_within(lines, page)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("height", HEIGHTS)
@pytest.mark.parametrize("count", [1, 3, 1000])
def test_what_matters_is_there_in_every_size(width: int, height: int, count: int) -> None:
    """The phase, and a row of the worker in trouble where there is room for any row."""
    page = Page(width=width, height=height, unicode=True)
    lines = plain(job.fitting(document.read(jobviews.scene("lost", count)), page, "note"))
    assert "Running" in lines[0] or "Unknown" in lines[0]
    last = str(count - 1)
    assert any(line.split()[0].endswith(last) and "unknown" in line for line in lines[1:] if line)


@pytest.mark.parametrize("name", jobviews.SCENES)
def test_every_scene_says_how_it_stands(name: str) -> None:
    """Phase, command, stages, counts and each worker; nobody is left out where all is shown."""
    page = Page(width=200, height=24, unicode=True)
    view = jobviews.scene(name, 30)
    text = "\n".join(plain(job.whole(document.read(view), page)))
    assert view["status"]["phase"] in text
    assert "starting 0." in text
    for worker in view["workers"]:
        assert worker["name"] in text
    if view["status"]["command"]:
        assert "python3 train.py --epochs 3" in text


def test_a_failed_job_names_the_first_rank_with_its_last_words() -> None:
    """Exit code, who should act, the rank that failed first, its stderr, and where it stands."""
    page = Page(width=100, height=40, unicode=True)
    lines = plain(job.whole(document.read(jobviews.scene("failed")), page))
    at = lines.index("exit 139 (user): rank 9 on train-worker-2 was killed by SIGSEGV")
    assert lines[at + 2] == "  | Segmentation fault (core dumped)"
    table = [line for line in lines if line.startswith("train-worker")]
    assert table[0].startswith("train-worker-2  failed")
    (rank,) = [line for line in lines if "signal 11" in line]
    assert rank.split()[:2] == ["9", "train-worker-2"]


def test_the_first_cause_stands_before_those_who_fell_with_it() -> None:
    """Others are killed by mpirun: their ends are failures too, and their numbers may be lower."""
    view = jobviews.scene("failed", 3)
    for worker in view["workers"][:2]:
        worker.update(phase="Failed", reason="rank was killed by SIGTERM")
        for rank in worker["ranks"]:
            rank.update(state="failed", signal=15)
    lines = plain(job.whole(document.read(view), Page(width=100, height=40, unicode=True)))
    at = next(at for at, line in enumerate(lines) if line.startswith("HOST"))
    assert [line.split()[0][-1] for line in lines[at + 1 : at + 4]] == ["2", "0", "1"]
    at = next(at for at, line in enumerate(lines) if line.startswith("RANK"))
    assert [int(line.split()[0]) for line in lines[at + 1 : at + 5]] == [9, 0, 1, 2]


def test_ranks_that_run_tell_what_they_use() -> None:
    page = Page(width=100, height=40, unicode=True)
    lines = plain(job.whole(document.read(jobviews.scene("running", 1)), page))
    assert "   1  train-worker-0  running  98 %   4 GiB" in lines
    assert "1 of 1 worker ready, 4 slots, 4 of 4 ranks run, CPU 397 %, memory 12 GiB" in lines


def test_a_worker_alone_says_that_it_knows_no_more() -> None:
    page = Page(width=120, height=40, unicode=True)
    text = "\n".join(plain(job.whole(document.read(jobviews.scene("alone")), page)))
    assert "Only what this worker knows of itself" in text
    assert "workers ready" not in text


def test_a_low_screen_shows_workers_rather_than_the_story() -> None:
    page = Page(width=80, height=8, unicode=True)
    lines = plain(job.fitting(document.read(jobviews.scene("lost", 1000)), page))
    assert len(lines) == 8
    assert "train.py" not in "".join(lines)
    assert lines[3].startswith("train-worker-999")
    assert lines[-1] == "and 996 more"


def test_many_workers_cost_the_rows_shown() -> None:
    """A screen of a wait for ten thousand is as long as one for ten."""
    rows = [Awaited(seen=Seen(host=Host(name=f"w{at}")), slots=None) for at in range(22)]
    wait = Wait(ready=0, expected=10000, known=10000, waited_s=1, deadline_s=9, rows=rows)
    lines = plain(awaiting.lines(wait, Page(width=80, height=24, unicode=True)))
    assert (len(lines), lines[-1]) == (24, "and 9,981 more")


def test_texts_are_literal() -> None:
    """Escape sequences, markup, directions, marks that combine: all stands there to be read."""
    said = literal(EVIL, unicode=True)
    assert said == (
        r"w\x1b[2J\x1b[31m\r\n\x07\x9b2J\u202e[red]x[/red]\u0301\U0001f1e9\U0001f1ea 日本é"
    )
    assert literal("日本é", unicode=False) == r"\u65e5\u672c\xe9"


def test_cuts_are_marked() -> None:
    """An end that is missing has a mark; a name is cut in its middle, for names differ at the end."""
    assert clipped("connection refused", 8, unicode=True) == "connect…"
    assert clipped("connection refused", 8, unicode=False) == "connect~"
    assert clipped("日本漢字", 4, unicode=True) == "日…"
    assert named("train-worker-1024", 11, unicode=True) == "train…-1024"
    assert named("short", 11, unicode=True) == "short"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (amounts.seconds(0.04), "0.0 s"), (amounts.seconds(9.94), "9.9 s"),
        (amounts.seconds(9.96), "10 s"), (amounts.seconds(119.4), "119 s"),
        (amounts.seconds(120), "2m00s"), (amounts.seconds(3599.6), "1h00m"),
        (amounts.seconds(4020), "1h07m"), (amounts.seconds(273600), "3d04h"),
        (amounts.seconds(None), "-"), (amounts.whole_seconds(3.99), "3 s"),
        (amounts.size(512), "512 B"), (amounts.size(1536), "2 KiB"),
        (amounts.size(1.5 * (1 << 20)), "1.5 MiB"), (amounts.size(1023.9 * 1024), "1 MiB"),
        (amounts.size(16 << 30), "16 GiB"), (amounts.size(1 << 60), "1024 PiB"),
        (amounts.size(None), "-"), (amounts.percent(99.6), "100 %"), (amounts.number(2.5), "2.5"),
    ],
)  # fmt: skip
def test_amounts_are_short_and_right(made: str, expected: str) -> None:
    assert made == expected


def test_what_an_agent_left_behind_is_a_view() -> None:
    """Stages get their seconds from when the next one began, workers their state from both lists."""
    status = {
        "role": "launcher", "version": "0.1.0", "phase": "Failed", "stage": "ended",
        "stages": [
            {"stage": "waiting", "since": "2026-11-28T10:00:00.500Z"},
            {"stage": "running", "since": "2026-11-28T10:00:03.000Z"},
            {"stage": "ended", "since": "2026-11-28T10:01:03.250Z"},
        ],
        "tasks": [
            {"name": "here", "role": "launcher", "phase": "Failed"},
            {"name": "w0", "role": "worker", "phase": "Failed", "reason": "w0 was lost", "slots": 2},
        ],
        "hosts": [{"name": "w0", "state": "ready", "detail": ""}],
        "outcome": {"code": 241, "fault": "infrastructure", "message": "w0 was lost"},
    }  # fmt: skip
    made = left.document(json.loads(json.dumps(status)))
    read = document.read(made)
    assert read.seconds == (("waiting", 2.5), ("running", 60.25))
    assert (read.sender, read.complete, read.ended) == ("here", True, True)
    lines = plain(job.whole(read, Page(width=100, height=24, unicode=True)))
    assert "waiting 2.5 s → running 60 s → ended 2026-11-28 10:01:03" in lines
    assert "exit 241 (infrastructure): w0 was lost" in lines
    assert any(line.startswith("w0") and "failed" in line for line in lines)


@given(JSON)
@settings(max_examples=50, deadline=None)
def test_a_status_file_may_be_anything(status: Any) -> None:
    """What stays behind may be another program's, or half of it."""
    given_ = status if isinstance(status, dict) else {"stages": status, "tasks": status}
    read = document.read(left.document(given_))
    assert job.whole(read, Page(width=80, height=24, unicode=True))
