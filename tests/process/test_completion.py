"""Real shells complete our command line with the scripts that `mpiboot completion` prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpiboot.cli import completing
from mpiboot.plan.completion import SHELLS
from mpiboot.plan.completion.words import Command, Option
from tests.helpers.terminal import PROMPT, Terminal, terminal

COMMANDS = {one.name: one for one in completing.commands({})}
PATH = "/usr/local/bin:/usr/bin:/bin"

# What a shell says of the words that it would call us with: the proof that the line was completed.
_SAY = "mpiboot() { printf 'word <%s>\\n' \"$@\"; echo over; }"
_START = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], f"PS1='{PROMPT}'; source ./script; {_SAY}"),
    "zsh": (
        ["zsh", "-f", "-i"],
        f"PS1='{PROMPT}'; LISTMAX=1000; autoload -Uz compinit; compinit -u -D; source ./script; {_SAY}",
    ),
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the script of each shell, as the command prints it, and some files."""
    place = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run(
            [sys.executable, "-m", "mpiboot", "completion", shell],
            capture_output=True, check=True, timeout=60,
        )  # fmt: skip
        (place / shell).mkdir()
        (place / shell / "script").write_bytes(done.stdout)
        (place / shell / "hosts here").touch()
        (place / shell / "hostdir").mkdir()
    return place


@pytest.fixture(params=_START)
def shell(request: pytest.FixtureRequest, scripts: Path) -> Iterator[Terminal]:
    """An interactive shell that has read its script."""
    argv, start = _START[request.param]
    place = scripts / request.param
    env = {"PATH": PATH, "TERM": "xterm", "HOME": str(place), "LC_ALL": "C.UTF-8"}
    before = Path.cwd()
    os.chdir(place)
    try:
        with terminal(argv, env) as made:
            made.type(f"{start}; echo be''gun\n")
            made.await_text("begun\n")
            yield made
    finally:
        os.chdir(before)


def completed(shell: Terminal, keys: str) -> list[str]:
    """Type a line, and return the words that we would be called with."""
    shell.clear()
    shell.type(f"{keys}\n")
    said = shell.await_text("over\n")
    return [line[6:-1] for line in said.splitlines() if line.startswith("word <")]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("mpiboot laun\t", ["launcher"]),
        ("mpiboot launcher --hostfi\t x", ["launcher", "--hostfile", "x"]),
        ("mpiboot launcher --profile pl\t", ["launcher", "--profile", "plain"]),
        ("mpiboot launcher --profile=pl\t", ["launcher", "--profile=plain"]),
        ("mpiboot launcher --hostfile hosts\t", ["launcher", "--hostfile", "hosts here"]),
        ("mpiboot worker --key-dir host\tx", ["worker", "--key-dir", "hostdir/x"]),
        ("mpiboot schema doc\t", ["schema", "doctor"]),
        ("mpiboot probe --for li\t", ["probe", "--for", "live"]),
        ("mpiboot --log-lev\t debug", ["--log-level", "debug"]),
        ("mpiboot plan --mca btl tcp -- mkfi\t", ["plan", "--mca", "btl", "tcp", "--", "mkfifo"]),
        ("mpiboot -- ls hosts\t", ["--", "ls", "hosts here"]),
        ("mpiboot launcher -- ls --profile pl\t", ["launcher", "--", "ls", "--profile", "pl"]),
    ],
)  # fmt: skip
def test_a_line_is_completed(shell: Terminal, keys: str, words: list[str]) -> None:
    """Commands, options, their values by either form, files with spaces, and the job's own command."""
    assert completed(shell, keys) == words


@pytest.mark.parametrize(
    ("keys", "command"), [("mpiboot \t\t", ""), ("mpiboot probe --\t\t", "probe")]
)
def test_a_list_has_descriptions(shell: Terminal, keys: str, command: str) -> None:
    """Where several words are possible each stands with what it is for."""
    shell.clear()
    shell.type(keys)
    wanted = (
        {one.purpose for name, one in COMMANDS.items() if name}
        if not command
        else {one.help for one in COMMANDS[command].options}
    )
    for text in wanted:
        shell.await_text(text)


def _fish(place: Path, line: str) -> dict[str, str]:
    """Return what fish would offer for a line: each word with its description."""
    script = f"source ./script; complete -C {line!r}"
    env = {"PATH": PATH, "HOME": str(place), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], cwd=place / "fish", env=env,
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    rows = (line.partition("\t") for line in done.stdout.splitlines())
    return {word: text for word, _, text in rows}


@pytest.mark.parametrize("name", COMMANDS)
def test_fish_offers_each_option(scripts: Path, name: str) -> None:
    """All that the parser takes, with its description, and nothing besides."""
    wanted = {
        flag: one.help
        for one in COMMANDS[name].options
        for flag in one.flags
        if flag.startswith("--")
    }
    found = _fish(scripts, f"mpiboot {name} --".replace("  ", " "))
    found.pop("--", None)
    assert found == wanted


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mpiboot laun", {"launcher"}),
        ("mpiboot launcher --profile ", {"horovod", "plain"}),
        ("mpiboot launcher --profile=pl", {"--profile=plain"}),
        ("mpiboot launcher --hostfile hosts", {"hosts here"}),
        ("mpiboot worker --key-dir host", {"hostdir/"}),
        ("mpiboot schema d", {"doctor"}),
        ("mpiboot schema status --", {"--help"}),
        ("mpiboot keygen hosts", set()),
        ("mpiboot launcher -- mkfi", {"mkfifo"}),
        ("mpiboot launcher -- ls hosts", {"hosts here"}),
    ],
)
def test_fish_offers_values(scripts: Path, line: str, words: set[str]) -> None:
    """Commands, choices, files where a file is meant and only there, and the job's own command."""
    assert set(_fish(scripts, line)) == words


def test_bash_with_its_package_of_completions(scripts: Path) -> None:
    """Where bash-completion is loaded the job's command is completed as it is by itself."""
    words = (
        "source /usr/share/bash-completion/bash_completion; source ./script;"
        " COMP_WORDS=(mpiboot plan -- dpkg-query --lis) COMP_CWORD=4 COMP_TYPE=9"
        " COMP_LINE='mpiboot plan -- dpkg-query --lis' COMP_POINT=32;"
        " _mpiboot; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", words], cwd=scripts / "bash",
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "--list" in [word.strip() for word in done.stdout.splitlines()], done.stderr


_NASTY = 'it\'s $(touch ran) `touch ran` [a]: \\ "b" %s'
_ASK = {
    "bash": (
        "source ./script; COMP_WORDS=(mpiboot c --) COMP_CWORD=2 COMP_TYPE=9 COLUMNS=200;"
        " _mpiboot; printf '%s\\n' \"${COMPREPLY[@]}\""
    ),
    "fish": "source script; complete -C 'mpiboot c --'",
}


@pytest.mark.parametrize("name", _ASK)
def test_descriptions_are_texts(tmp_path: Path, name: str) -> None:
    """Whatever a description holds is shown, and nothing of it is run."""
    option = Option(flags=("--one",), help=_NASTY)
    command = Command(name="c", purpose=_NASTY, options=(option,), runs=True)
    (tmp_path / "script").write_text(SHELLS[name]([command]))
    done = subprocess.run(
        [name, *(["--no-config"] if name == "fish" else []), "-c", _ASK[name]], cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert _NASTY in done.stdout, done.stderr
    assert not (tmp_path / "ran").exists()


def test_zsh_takes_descriptions_as_texts(tmp_path: Path) -> None:
    """As above, in a list on the terminal."""
    options = tuple(Option(flags=(f"--{n}",), help=f"{n}: {_NASTY}") for n in ("one", "two"))
    (tmp_path / "script").write_text(
        SHELLS["zsh"]([Command(name="c", purpose=_NASTY, options=options)])
    )
    argv, start = _START["zsh"]
    start = start.replace("./script", f"{tmp_path}/script")
    env = {"PATH": PATH, "TERM": "xterm", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    with terminal(argv, env) as shell:
        shell.type(f"cd {tmp_path}; {start}; echo be''gun\n")
        shell.await_text("begun\n")
        shell.type("mpiboot c --\t\t")
        shell.await_text(f"two: {_NASTY}")
    assert not (tmp_path / "ran").exists()
