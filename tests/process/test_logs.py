"""What people and collectors see of the ranks, the same on every MPI: tags, bars, files, JSON."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from mpiboot.report import schema
from tests.helpers.agents import Agent, Agents
from tests.helpers.eventually import eventually
from tests.helpers.mpis import MPIS, Mpi

JUDGE = jsonschema.Draft202012Validator(json.loads(schema.text("log")))
LINES = 12_000  # of 110 bytes: more than a MiB
LONG_S = 60
QUICK = ("--mca", "odls_base_sigkill_timeout", "0")
TAGS = re.compile(rb"\[(\d+)\](\+)? ")


@pytest.fixture(params=MPIS, ids=str)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI in turn."""
    chosen: Mpi = request.param
    chosen.need()
    return chosen


def start(agents: Agents, mpi: Mpi, place: Path, lines: int, *options: str) -> Agent:
    """Start two ranks on two hosts that write all that logs have to cope with."""
    place.mkdir()
    agents.workers(2, **mpi.pod)
    job = mpi.python_program("logging_rank.py", str(place), "2", str(lines))
    env = mpi.pod.get("env", {})
    return agents.launcher(*job, hosts="w1:1,w2:1", options=(*mpi.options, *options), env=env)


def wrote(rank: int, lines: int) -> tuple[bytes, bytes]:
    """Return what a rank writes to its stdout and its stderr."""
    bar = b"".join(b"\r%d: %d%%" % (rank, percent) for percent in range(0, 100, 25))
    much = b"".join(b"%d: %06d %s\n" % (rank, number, b"-" * 100) for number in range(lines))
    out = (
        b"%d: bytes \xff\xfe\n" % rank
        + b"%d: %s\n" % (rank, f"ü{rank}".encode() * 10_000)
        + much
        + b"%d: name? me\n%d: half" % (rank, rank)
    )
    return out, bar + b"\r%d: done\n" % rank


def untagged(text: bytes, rank: int) -> bytes:
    """Take a rank's lines and put together what it wrote, by the rule of docs/logs.md."""
    found = b""
    for line in text.split(b"\n"):
        match = TAGS.match(line)
        if match is None or int(match[1]) != rank:
            continue
        if match[2]:
            found = found.removesuffix(b"\n")
        found += re.sub(rb"\r" + TAGS.pattern, b"\r", line[match.end() :]) + b"\n"
    return found


def test_tags_bars_prompts_files_and_the_filter(agents: Agents, mpi: Mpi, tmp_path: Path) -> None:
    """One rank is seen, live and tagged; files have all of both, in bounds; the log file has it, too."""
    place, out, log = tmp_path / "place", tmp_path / "out", tmp_path / "log"
    launcher = start(
        agents, mpi, place, LINES,
        "--tag-output", "--show-ranks", "1", "--log-file", str(log), "--output-dir", str(out),
        "--output-max-mb", "1", "--output-keep", "1",
    )  # fmt: skip
    eventually(lambda: _assert_in(b"[1] \r[1] 1: 0%", launcher.log_path), 15)
    eventually(lambda: _assert_in(b"[1] 1: name? ", launcher.out_path), 15)
    assert not launcher.out.endswith(b"\n"), "a prompt stays open"
    (place / "go").touch()
    assert launcher.wait(LONG_S) == 0, launcher.log
    agents.assert_global()
    stdout, stderr = wrote(1, LINES)
    assert untagged(launcher.out, 1) == stdout + b"\n"
    assert untagged(launcher.log_path.read_bytes(), 1) == stderr
    assert b"[0]" not in launcher.out + launcher.log_path.read_bytes()
    _assert_each_line_has_one_owner(launcher.out)
    _assert_copied(log.read_bytes())
    for rank in (0, 1):
        stdout, stderr = wrote(rank, LINES)
        assert (out / f"rank.{rank}.err").read_bytes() == stderr
        former, last = out / f"rank.{rank}.out.1", out / f"rank.{rank}.out"
        assert former.read_bytes() + last.read_bytes() == stdout
        assert 1_000_000 < former.stat().st_size <= 1 << 20
        assert former.read_bytes().endswith(b"\n")


def _assert_in(text: bytes, path: Path) -> None:
    assert text in path.read_bytes()


def _assert_each_line_has_one_owner(text: bytes) -> None:
    for line in text.split(b"\n"):
        assert len({one[1] for one in TAGS.finditer(line)}) == 1 or not line, line[:200]


def _assert_copied(log: bytes) -> None:
    """The log file has both ranks' lines, each with one owner."""
    own = [line for line in log.split(b"\n") if TAGS.match(line)]
    _assert_each_line_has_one_owner(b"\n".join(own))
    for rank in (0, 1):
        assert b"[%d] %d: %06d " % (rank, rank, LINES - 1) in log
        assert b"%d: done\n" % rank in log


def test_every_line_is_json_of_one_schema(agents: Agents, mpi: Mpi, tmp_path: Path) -> None:
    """Agents', mpirun's and ranks' lines can all be read, and have whole what each rank wrote."""
    place = tmp_path / "place"
    launcher = start(agents, mpi, place, 50, "--log-format", "json", "--output-format", "json")
    eventually(lambda: _assert_in(b'"message": "1: name? ", "partial": true}\n', launcher.out_path))
    (place / "go").touch()
    assert launcher.wait(LONG_S) == 0, launcher.log
    agents.assert_global()
    out, err = read(launcher.out_path), read(launcher.log_path)
    for rank, host in enumerate(("w1", "w2")):
        stdout, stderr = wrote(rank, 50)
        assert joined(out, rank) == stdout.decode(errors="replace")
        assert joined(err, rank) == stderr.decode()
        own = [one for one in out + err if one.get("rank") == rank]
        assert {one["host"] for one in own} == {host}
        (replaced,) = [one["message"] for one in own if one.get("replaced")]
        assert replaced == f"{rank}: bytes \ufffd\ufffd"
    assert {one["role"] for one in out} <= {"rank", "mpirun"}
    assert {"launcher", "rank"} <= {one["role"] for one in err}
    assert {one["attempt"] for one in out} == {1}


def read(path: Path) -> list[dict[str, Any]]:
    """Read a stream of which every line is an entry."""
    found = []
    for line in path.read_bytes().removesuffix(b"\n").split(b"\n"):
        assert len(line) < 16_384
        found.append(json.loads(line))
        JUDGE.validate(found[-1])
    return found


def joined(entries: Sequence[dict[str, Any]], rank: int) -> str:
    own = [one for one in entries if one.get("rank") == rank]
    return "".join(one["message"] + ("" if one.get("partial") else "\n") for one in own)


def test_words_of_mpirun_and_of_unwrapped_ranks_are_json_too(agents: Agents) -> None:
    """Without the wrapper nobody knows ranks: entries are mpirun's; what has no effect is told."""
    agents.workers(1)
    job = ("sh", "-c", "echo out; echo err >&2; exit 3")
    options = (
        "--log-format",
        "json",
        "--output-format",
        "json",
        "--no-rank-wrapper",
        "--show-ranks",
        "0",
    )
    launcher = agents.launcher(*job, options=options)
    assert launcher.wait(LONG_S) == 3
    agents.assert_global()
    out, err = read(launcher.out_path), read(launcher.log_path)
    assert [(one["role"], one["message"]) for one in out] == [("mpirun", "out")]
    said = [one["message"] for one in err if one["role"] == "mpirun" and one["stream"] == "stderr"]
    assert "err" in said
    assert any(re.search(r"Exit code: +3", one) for one in said), "Open MPI's own words"
    assert any("--show-ranks without effect" in one["message"] for one in err)


def test_a_hidden_rank_that_fails_is_still_heard(agents: Agents) -> None:
    """Its last words stand before the exit line although its output is shown to nobody."""
    agents.workers(2)
    launcher = agents.launcher(
        "sh", "-c", "echo here; test $OMPI_COMM_WORLD_RANK = 0 || { echo boom-42 >&2; exit 7; }; sleep 9",
        options=("--show-ranks", "none", *QUICK),
    )  # fmt: skip
    assert launcher.wait(LONG_S) == 7
    agents.assert_global()
    assert launcher.out == b""
    assert launcher.log.count("boom-42") == 1
    assert "[rank 1 on w2] boom-42" in launcher.log


def test_a_full_disk_is_one_warning(agents: Agents) -> None:
    """One for ranks' files and one for the log; the job goes on, and all of it is still shown."""
    agents.workers(2)
    job = ("sh", "-c", 'i=0; while test $i -lt 3000; do echo "$i ----------"; i=$((i+1)); done')
    launcher = agents.launcher(
        *job,
        options=("--output-dir", "/mnt/out", "--tag-output", "--log-file", "/mnt/log"),
        tmpfs=("/mnt:size=32k",),
    )
    assert launcher.wait(LONG_S) == 0
    agents.assert_global()
    lines = [line for line in launcher.log.splitlines() if "warning: cannot write" in line]
    assert len(lines) == 2
    assert re.search(r"/mnt/out/rank\.[01]\.out: no space left on device", "".join(lines))
    assert "cannot write /mnt/log: no space left on device" in "".join(lines)
    for rank in (0, 1):
        own = [one for one in launcher.out.splitlines() if one.startswith(b"[%d] " % rank)]
        assert own == [b"[%d] %d ----------" % (rank, number) for number in range(3000)]


def test_the_agents_own_lines_stand_alone(agents: Agents) -> None:
    """What the launcher says while a prompt is open begins a line, and the rank goes on behind it."""
    agents.workers(1)
    job = "trap 'echo more >&2; exit 0' TERM; printf half >&2; while :; do sleep 0.05; done"
    launcher = agents.launcher("sh", "-c", job, options=("--tag-output", *QUICK))
    eventually(lambda: _assert_in(b"[0] half", launcher.log_path), 15)
    launcher.pod.send(signal.SIGTERM)
    launcher.wait(LONG_S)
    agents.assert_global()
    lines = launcher.log.splitlines()
    assert "[0] half" in lines
    assert all(line.startswith(("[mpiboot launcher] ", "[0]")) for line in lines), lines
    assert any(line.startswith("[0]+ ") for line in lines), lines
