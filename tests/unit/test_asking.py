"""`mpiboot run`, `pause` and `resume`: their words, and one clear line for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot import cli
from mpiboot.link import control, messages
from mpiboot.plan.modes import Asked, Verb
from mpiboot.roles import asking


def test_words_become_a_request() -> None:
    """A pause waits unless told otherwise; the others do not unless told so."""
    pause = asking.parse(Verb.PAUSE, ["--release-workers", "--timeout", "2m"])
    assert pause.asked == Asked(verb=Verb.PAUSE, release=True)
    assert (pause.wait, pause.timeout_s) == (True, 120)
    assert not asking.parse(Verb.PAUSE, ["--no-wait"]).wait
    resume = asking.parse(Verb.RESUME, ["--wait", "--", "python", "--wait"])
    assert resume.asked.command == ("python", "--wait")
    assert resume.wait
    assert not asking.parse(Verb.RUN, []).wait


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["pause", "--", "x"], "a pause takes no command"),
        (["run", "--"], "no command after --"),
        (["run", "x"], "unrecognized arguments: x"),
        (["resume", "--release-workers"], "unrecognized arguments"),
        (["pause", "--timeout", "soon"], "expected seconds"),
        (["pause", "--timeout", "-1"], "expected 0 to"),
    ],
)
def test_usage_errors(capsys: pytest.CaptureFixture[str], argv: list[str], told: str) -> None:
    """64, one line, nothing on stdout."""
    assert cli.run(argv) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("verb", ["run", "pause", "resume"])
def test_where_nobody_listens(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    verb: str,
) -> None:
    """1, and where to ask."""
    monkeypatch.setenv("MPIBOOT_RUNTIME_DIR", str(tmp_path))
    assert cli.run([verb]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "mpiboot: no mpiboot launcher runs here; ask in the launcher's container\n",
    )


def test_a_command_that_does_not_fit_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before anybody is asked."""
    monkeypatch.setenv("MPIBOOT_RUNTIME_DIR", str(tmp_path))
    assert cli.run(["run", "--", "x" * messages.MAX_LINE]) == 64
    assert "is the most" in capsys.readouterr().err


commands = st.lists(st.text(max_size=50), max_size=20).map(tuple)


@given(st.sampled_from(list(Verb)), commands, st.booleans())
def test_what_is_asked_survives_the_wire(
    verb: Verb, command: tuple[str, ...], release: bool
) -> None:
    """Any words, bytes that are not UTF-8 among them."""
    asked = Asked(verb=verb, command=command, release=release)
    message = messages.decode(control.asked_message(asked).encode().rstrip(b"\n"))
    assert message is not None
    assert control.read_asked(message) == asked


@given(
    st.dictionaries(
        st.sampled_from(["do", "command", "release"]),
        st.one_of(
            st.none(), st.integers(), st.text(), st.lists(st.one_of(st.text(), st.integers()))
        ),
    )
)
def test_nonsense_is_nothing(body: dict[str, object]) -> None:
    """Whatever somebody sends, it is understood or refused."""
    asked = control.read_asked(messages.Message(kind=messages.CONTROL, body=body))
    assert asked is None or asked.verb.value == body["do"]
