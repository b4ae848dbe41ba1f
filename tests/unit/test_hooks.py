"""Hooks: which run, what they are told, what their words and their end mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ExitCode
from mpiboot.model.outcome import Fault, Outcome
from mpiboot.plan import hooks
from mpiboot.plan.hooks import End, Entry, Kind, Said


def choose(*names: str) -> list[str]:
    return list(hooks.choose([Entry(name=n, file=True, executable=True) for n in names]).run)


def test_hooks_run_in_the_order_of_their_names() -> None:
    """By bytes, so that no locale changes it."""
    assert choose("20-b", "10-z.sh", "B", "a") == ["10-z.sh", "20-b", "B", "a"]


@pytest.mark.parametrize(
    "name", ["a~", ".hidden", "..data", "a.bak", "a.orig", "a.swp", "a.dpkg-old", "a.rpmsave"]
)
def test_what_editors_and_volumes_leave_is_no_hook(name: str) -> None:
    """A copy of a hook must not run beside it."""
    assert choose(name, "a") == ["a"]


def test_what_is_not_executable_is_named_and_a_directory_is_not() -> None:
    """A file without the bit was meant to run, or is a README: a person has to say."""
    choice = hooks.choose(
        [
            Entry(name="b", file=True, executable=False),
            Entry(name="d", file=False, executable=True),
        ]
    )
    assert (list(choice.run), list(choice.not_executable)) == ([], ["b"])


def test_variables_before_the_start_and_after_the_end() -> None:
    """What is not known yet is absent, not empty."""
    told = hooks.variables(
        Kind.PRE_START, role="worker", hostname="w1", hostfile="", np=0, outcome=None
    )
    assert told == {
        "MPIBOOT_HOOK": "pre-start",
        "MPIBOOT_ROLE": "worker",
        "MPIBOOT_HOSTNAME": "w1",
    }
    outcome = Outcome(code=137, fault=Fault.USER, message="rank 1 was killed")
    told = hooks.variables(
        Kind.POST_STOP, role="launcher", hostname="l", hostfile="/h", np=4, outcome=outcome
    )
    assert told["MPIBOOT_HOSTFILE"] == "/h"
    assert told["MPIBOOT_NP"] == "4"
    assert told["MPIBOOT_EXIT_CODE"] == "137"
    assert told["MPIBOOT_FAULT"] == "user"
    assert told["MPIBOOT_MESSAGE"] == "rank 1 was killed"


def test_a_line_sets_a_variable_to_what_stands_after_the_sign() -> None:
    """Byte for byte, without a shell's quotes; the last word counts."""
    said = Said(takes=True)
    for line in ("export A=1", "export B= 'x=y' ü", "export A=2", "export EMPTY="):
        assert said.hear(line.encode(), stdout=True) is None
    assert said.variables == {"A": "2", "B": " 'x=y' ü", "EMPTY": ""}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"export MPIBOOT_NP=3", "MPIBOOT_"),
        (b"export 1A=3", "'1A' is no NAME=VALUE"),
        (b"export A", "'A' is no NAME=VALUE"),
        (b"export A B=3", "'A B' is no NAME=VALUE"),
        (b"export =3", "'' is no NAME=VALUE"),
        (b"export A=\xff", "not UTF-8"),
        (b"export A=x\0y", "NUL"),
        (b"export A=" + b"x" * (hooks.MOST_VALUE + 1), "is the most"),
        (b"export " + b"A" * 81 + b"=x", "is no NAME=VALUE"),
    ],
)
def test_what_cannot_be_a_variable_is_refused_in_one_line(line: bytes, why: str) -> None:
    """And nothing is set."""
    said = Said(takes=True)
    shown = said.hear(line, stdout=True)
    assert shown is not None
    assert why in shown
    assert "\n" not in shown
    assert said.variables == {}


def test_only_stdout_before_the_start_sets_variables() -> None:
    """Elsewhere the same words are output like any other."""
    said = Said(takes=True)
    assert said.hear(b"export A=1", stdout=False) == "export A=1"
    assert Said(takes=False).hear(b"export A=1", stdout=True) == "export A=1"
    assert said.variables == {}


def test_the_number_of_variables_is_bounded() -> None:
    """What goes beyond is refused, and what is there may still change."""
    said = Said(takes=True)
    for number in range(hooks.MOST_VARIABLES):
        assert said.hear(f"export A{number}=x".encode(), stdout=True) is None
    assert "more than" in str(said.hear(b"export B=x", stdout=True))
    assert said.hear(b"export A0=y", stdout=True) is None
    assert said.variables["A0"] == "y"


def test_a_hook_that_never_stops_talking_fills_no_log() -> None:
    """The last line that is shown says so; each hook has its own bound."""
    said = Said(takes=True)
    shown = [said.hear(b"x", stdout=True) for _ in range(hooks.MOST_LINES + 50)]
    assert sum(line is not None for line in shown) == hooks.MOST_LINES
    assert "not shown" in str(shown[hooks.MOST_LINES - 1])
    said.begin()
    assert said.hear(b"y", stdout=True) == "y"


@given(st.binary(max_size=3000), st.booleans(), st.booleans())
def test_any_line_is_one_printable_line_of_the_log(line: bytes, takes: bool, stdout: bool) -> None:
    """Whatever a hook writes cannot forge a line of ours, nor set a variable that breaks another."""
    said = Said(takes=takes)
    shown = said.hear(line, stdout=stdout)
    assert shown is None or (shown.isprintable() and len(shown) <= hooks.MOST_SHOWN + 100)
    assert all(name.isidentifier() and "\0" not in v for name, v in said.variables.items())


@given(st.binary(max_size=200))
def test_any_assignment_sets_the_variable_or_says_why(rest: bytes) -> None:
    """Never neither, never both."""
    said = Said(takes=True)
    shown = said.hear(b"export " + rest, stdout=True)
    assert (shown is None) == bool(said.variables)


def test_a_failure_names_hook_code_and_last_line() -> None:
    """78, whatever the hook's own code was."""
    fault = hooks.fault_of(End(name="10-x", code=3, last="no licence"), "/h/10-x")
    assert fault.code == ExitCode.CONFIG
    assert str(fault) == "pre-start hook 10-x ended with 3: no licence; mend or remove /h/10-x"
    assert "was killed by SIGSEGV" in End(name="x", code=139).text(Kind.POST_STOP)
    late = hooks.fault_of(End(name="x", late_s=60.02), "/h/x")
    assert "did not end within 60 s" in str(late)
    assert "--hook-timeout" in str(late)
    assert "cannot be run: why" in End(name="x", fault="why").text(Kind.PRE_START)


def test_only_0_is_no_failure() -> None:
    """A hook that could not run has no code."""
    assert not End(name="x", code=0).failed
    assert all(
        one.failed for one in (End(name="x", code=1), End(name="x"), End(name="x", late_s=1))
    )
