"""The view: its parts on the link, what it leaves out, the last lines of stderr."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.link import messages, viewing
from mpiboot.plan import openly
from mpiboot.report.recent import LINES, Recent


@given(
    st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=100),
    st.integers(1, 3000),
)
def test_a_view_of_any_length_survives_the_link(text: str, times: int) -> None:
    """Parts fit into a message each, and make the whole again."""
    whole, assembly, found = text * times, viewing.Assembly(), []
    for part in viewing.parts(whole):
        line = part.encode()
        assert len(line) <= messages.MAX_LINE
        read = messages.decode(line)
        assert read is not None
        found.append(assembly.take(read))
    assert found == [None] * (len(found) - 1) + [whole]


@given(st.text(min_size=1, max_size=10))
def test_text_that_grows_when_it_is_written_still_fits(text: str) -> None:
    """A view is JSON in ASCII; its quotes and backslashes take two bytes each."""
    for part in viewing.parts(json.dumps({"stderr": [text * 20_000]})):
        assert len(part.encode()) <= messages.MAX_LINE


def test_secrets_in_command_lines_are_hidden() -> None:
    """Values of variables with secret names, however an MPI is told of them."""
    argv = [
        "mpirun", "-x", "AWS_SECRET_ACCESS_KEY=abc", "-x", "OMP_NUM_THREADS=4",
        "-genv", "API_TOKEN", "xyz", "--env=DB_PASSWORD=p=q", "env", "HF_TOKEN=t", "python", "a=b",
    ]  # fmt: skip
    assert openly.words(argv) == [
        "mpirun", "-x", "AWS_SECRET_ACCESS_KEY=***", "-x", "OMP_NUM_THREADS=4",
        "-genv", "API_TOKEN", "***", "--env=DB_PASSWORD=***", "env", "HF_TOKEN=***", "python", "a=b",
    ]  # fmt: skip


def test_recent_lines_are_what_people_saw() -> None:
    """A bar is as it was drawn last; colours and bells are gone; half a line counts."""
    recent = Recent()
    recent.write(b"first\n 10%\r 20%\r\x1b[31m100%\x1b[0m\nhalf")
    assert recent.lines() == ["first", "100%", "half"]
    recent.write(b" of it\n\xff\x07\n")
    assert recent.lines() == ["first", "100%", "half of it", "�"]


@given(st.lists(st.binary(max_size=300), max_size=60))
def test_recent_takes_bounded_room(chunks: list[bytes]) -> None:
    """Whatever is written: so many lines, of a bounded length, all printable."""
    recent = Recent()
    for chunk in chunks:
        recent.write(chunk)
    recent.write(b"x" * 100_000)
    lines = recent.lines()
    assert len(lines) <= LINES
    assert all(line.isprintable() and len(line) <= 4096 for line in lines)
