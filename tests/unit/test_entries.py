"""Entries in JSON: every line keeps to the published schema, and no byte is lost silently."""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot import log
from mpiboot.plan.entries import MOST_BYTES, Entries
from mpiboot.plan.frames import OWN, Record
from mpiboot.report import schema

SCHEMA: dict[str, Any] = json.loads(schema.text("log"))
JUDGE = jsonschema.Draft202012Validator(SCHEMA)
PIECES = st.lists(
    st.one_of(
        st.sampled_from([b"\n", b"\r", "ü猫\u2028".encode(), b"\0", b'"\\', b"\x1b[31m"]),
        st.text(max_size=30).map(lambda text: text.encode(errors="replace")),
    ),
    max_size=8,
).map(b"".join)


def read(text: bytes) -> list[dict[str, Any]]:
    """Read lines, each of which keeps to the schema and to the bound."""
    assert text == b"" or text.endswith(b"\n")
    found = []
    for line in text.split(b"\n")[:-1]:
        assert len(line) < MOST_BYTES
        found.append(json.loads(line))
        JUDGE.validate(found[-1])
    return found


def joined(entries: list[dict[str, Any]]) -> str:
    return "".join(one["message"] + ("" if one.get("partial") else "\n") for one in entries)


def test_the_schema_is_one() -> None:
    """It is a JSON Schema of draft 2020-12, and refuses what no line may be."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    good = {"time": "2026-01-02T03:04:05.678Z", "level": "info", "role": "rank", "message": "",
            "stream": "stdout", "attempt": 1, "rank": 0}  # fmt: skip
    assert JUDGE.is_valid(good)
    for change in (
        {"time": "2026-01-02"}, {"level": "loud"}, {"rank": -1}, {"stream": "out"}, {"attempt": 0},
        {"partial": False}, {"message": 1}, {"role": "mpirun"}, {"role": "launcher"},
        {"exception": ""},
    ):  # fmt: skip
        assert not JUDGE.is_valid({**good, **change}), change
    assert not JUDGE.is_valid({"role": "rank"})


def test_the_page_keeps_to_the_schema() -> None:
    """Its examples are entries, and its table has each field."""
    page = (Path(__file__).resolve().parents[2] / "docs/logs.md").read_text()
    examples = page.partition("```json\n")[2].partition("```")[0]
    assert len(read(examples.encode())) == 2
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(
        dict.fromkeys(["time", "level", "role", "host", "message", *SCHEMA["properties"]])
    )


@given(st.lists(PIECES, max_size=6), st.integers(-1, 5), st.sampled_from(["o", "e"]))
def test_messages_together_are_what_was_written(
    pieces: list[bytes], rank: int, stream: str
) -> None:
    """Joined, with a newline after each that is not partial, they are the text itself."""
    made = Entries(2, "here")
    text = b"".join(made.show(Record(rank, stream, 1700000000123, piece)) for piece in pieces)
    found = read(text)
    assert joined(found) == b"".join(pieces).decode()
    for entry in found:
        assert entry["role"] == "rank"
        assert entry.get("rank", -1) == rank
        assert entry["stream"] == {"o": "stdout", "e": "stderr"}[stream]
        assert (entry["time"], entry["attempt"]) == ("2023-11-14T22:13:20.123Z", 2)
        assert "replaced" not in entry


@pytest.mark.parametrize("character", ["x", "猫", "\x01", '"', "😀"])
def test_long_lines_are_cut_into_parts(character: str) -> None:
    """Each part is short enough for every container runtime, and no character is cut in two."""
    text = character * 100_000
    found = read(Entries(1, "h").show(Record(0, "o", 0, text.encode() + b"\n")))
    assert len(found) > 5
    assert [one.get("partial", False) for one in found] == [True] * (len(found) - 1) + [False]
    assert joined(found) == text + "\n"
    assert not any("replaced" in one for one in found)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_text_are_replaced_and_told(data: bytes) -> None:
    """A reader knows which lines are not what was written."""
    found = read(Entries(1, "h").show(Record(0, "o", 0, data + b"\n")))
    assert len(found) == data.count(b"\n") + 1
    for entry, line in zip(found, data.split(b"\n"), strict=True):
        assert entry["message"] == line.decode(errors="replace")
        try:
            line.decode()
            assert "replaced" not in entry
        except UnicodeDecodeError:
            assert entry["replaced"] is True


def test_long_lines_of_no_text_come_to_an_end() -> None:
    """A megabyte of bytes that only go on a character is cut, too."""
    found = read(Entries(1, "h").show(Record(0, "o", 0, b"\x80" * (1 << 20))))
    assert sum(len(one["message"]) for one in found) == 1 << 20


def test_who_speaks_and_where() -> None:
    """Words of mpirun come from here; a rank's from where it says that it is."""
    made = Entries(1, "here")
    made.place(Record(3, "h", 0, b"w2"))
    (own,) = read(made.show(Record(OWN, "e", 0, b"mpirun: x\n")))
    (rank,) = read(made.show(Record(3, "e", 0, b"y\n")))
    (other,) = read(made.show(Record(4, "e", 0, b"z\n")))
    assert (own["role"], own["host"], "rank" in own) == ("mpirun", "here", False)
    assert (rank["role"], rank["host"], rank["rank"]) == ("rank", "w2", 3)
    assert "host" not in other


def test_the_agents_own_lines_keep_to_the_same_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """With --log-format json, tracebacks among them."""
    log.configure("worker", as_json=True, level="debug")
    try:
        log.logger.info("ü \x1b[31m")
        try:
            int("x")
        except ValueError:
            log.logger.exception("why")
    finally:
        log.logger.handlers[:] = [logging.StreamHandler(sys.stderr)]
    plain, fault = read(capsys.readouterr().err.encode())
    assert plain["message"] == "ü \x1b[31m"
    assert "ValueError" in fault["exception"]
    assert plain["host"]


def test_a_name_from_elsewhere_is_bounded() -> None:
    """Nothing that a rank says of its host makes entries too long or moves a cursor."""
    made = Entries(1, "here")
    made.place(Record(3, "h", 0, b"\x1b\0" * 2000))
    made.place(Record(-1, "h", 0, b"w1"))
    for rank in (3, -1):
        for entry in read(made.show(Record(rank, "o", 0, b"\1" * 9000 + b"\n"))):
            assert entry.get("host", "?").strip("?") == ""
