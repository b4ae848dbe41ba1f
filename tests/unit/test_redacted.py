"""What is private in a command line, an environment and messages, and how it is shown."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.cli.sources import resolve
from mpiboot.errors import ProblemsError
from mpiboot.model import options, redacted
from mpiboot.model.options import ConfigFile
from mpiboot.model.settings import Settings
from mpiboot.runtime import veil
from mpiboot.runtime.keys import Origin

SECRET = "a secret that nobody may see"


@pytest.mark.parametrize(
    ("given_words", "shown"),
    [
        (["launcher", "--secret", SECRET], ["launcher", "--secret", "***"]),
        ([f"--secret={SECRET}", "--np", "2"], ["--secret=***", "--np", "2"]),
        (["-x", "TOKEN=abc", "-x", "PATH"], ["-x", "TOKEN=***", "-x", "PATH"]),
        (["-xTOKEN=abc", "--export=A=b"], ["-xTOKEN=***", "--export=A=***"]),
        (["--pushgateway", "http://u:p@host:1"], ["--pushgateway", "http://***@host:1"]),
        (["--", "train", "--secret", "x"], ["--", "train", "--secret", "x"]),
        (["--secret"], ["--secret"]),
    ],
)
def test_command_line_as_others_may_see_it(given_words: list[str], shown: list[str]) -> None:
    """Values of secrets, of exported variables and of passwords are gone; the job's words stay."""
    assert redacted.words(given_words) == shown


def test_variables_that_are_private() -> None:
    """Our own variables with a secret in them are named, and no others."""
    env = {
        "MPIBOOT_SECRET": SECRET,
        "MPIBOOT_EXPORT": "A=b",
        "MPIBOOT_PUSHGATEWAY": "http://plain:1",
        "MPIBOOT_SECRET_FILE": "/run/secret",
        "PATH": "/bin",
    }
    assert redacted.variables(env) == ["MPIBOOT_SECRET", "MPIBOOT_EXPORT"]


def test_secret_on_the_command_line_is_remarked_upon() -> None:
    """A flag gets one line; a variable or a file none."""
    assert "MPIBOOT_SECRET_FILE" in redacted.remark({"secret": "flag --secret"})
    assert redacted.remark({"secret": "environment MPIBOOT_SECRET"}) == ""
    assert redacted.remark({}) == ""


def test_mistyped_flag_does_not_tell_its_value() -> None:
    """`--secert=VALUE` is an unknown option, and its value is in no message."""
    with pytest.raises(ProblemsError) as fault:
        resolve("launcher", [f"--secert={SECRET}"], {}, "launcher")
    assert "--secert (nearest valid: --secret" in str(fault.value.problems)
    assert SECRET not in str(fault.value.problems)


@pytest.mark.parametrize("text", ['secret: "{}', "secret: [{}", "a: b\n secret: {}: x", "{}\n\t@"])
def test_broken_yaml_is_not_quoted(text: str) -> None:
    """A settings file that is no YAML is told with the place, and without its text."""
    file = ConfigFile(name="c.yaml", text=text.format(SECRET))
    with pytest.raises(ProblemsError) as fault:
        options.resolve({}, {}, file, [])
    said = str(fault.value.problems)
    assert "not YAML" in said or "expected a mapping" in said
    assert SECRET not in said


def test_values_do_not_show_secrets() -> None:
    """What a traceback or a debugger prints of settings and origins holds no secret."""
    assert SECRET not in repr(Settings(secret=SECRET, pushgateway=f"http://u:{SECRET}@host"))
    assert SECRET not in repr(Origin(secret=SECRET, what="x"))


def test_argument_block_keeps_its_size_and_its_first_words() -> None:
    """Only the last words are exchanged, and what is shorter is filled with zeros."""
    block = b"python\0-m\0mpiboot\0--secret\0abcdef\0"
    words, shown = [b"--secret", b"abcdef"], [b"--secret", b"***"]
    assert veil.arguments(block, words, shown) == b"python\0-m\0mpiboot\0--secret\0***\0\0\0\0"
    assert veil.arguments(b"pytest\0x\0", words, shown) == b"pytest\0x\0"
    assert veil.arguments(b"m\0--secret=a\0", [b"--secret=a"], [b"--secret=***"]) == (
        b"m\0--secret=*\0"
    )


_names = st.binary(min_size=1, max_size=5).filter(lambda b: b"=" not in b and b"\0" not in b)
_values = st.binary(max_size=9).filter(lambda b: b"\0" not in b)


@given(st.dictionaries(_names, _values, max_size=5), st.sets(_names, max_size=3))
def test_environment_block_loses_the_named_values_only(
    env: dict[bytes, bytes], names: set[bytes]
) -> None:
    """Size and all other variables stay; the named ones have zeros for a value."""
    block = b"".join(name + b"=" + value + b"\0" for name, value in env.items())
    wanted = b"".join(
        name + b"=" + (b"\0" * len(value) if name in names else value) + b"\0"
        for name, value in env.items()
    )
    assert veil.environment(block, names) == wanted


@pytest.mark.parametrize("by_file", [True, False])
def test_a_veil_over_a_long_environment(by_file: bool) -> None:
    """By the kernel's file of our memory, or without it: nobody reads the value, all else stays."""
    code = f"""
import os, sys
from mpiboot.runtime import veil
if not {by_file}:
    veil._rewrite_by_file = lambda *_: False
veil.draw([], [], ["MY_TOKEN"])
environ = open("/proc/self/environ", "rb").read()
assert b"hidden" not in environ, "it is seen"
assert environ.count(b"x" * 100_000) == 1 and environ.endswith(b"LAST=1\\0"), "something else went"
assert ("ctypes" in sys.modules) is not {by_file}
"""
    env = {"FIRST": "x" * 100_000, "MY_TOKEN": "hidden" * 1000, "LAST": "1"}
    done = subprocess.run([sys.executable, "-Ic", code], env=env, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
