"""The command line: help, version, and one clear line with the right code for what is wrong."""

from __future__ import annotations

import json

import pytest

from mpiboot import __version__, cli


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.run(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MPIBOOT_ROLE", "MPIBOOT_HOSTS", "MPIBOOT_SECRET", "MPIBOOT_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """For people and for programs."""
    assert said(capsys, "version") == (0, f"mpiboot {__version__}\n", "")
    assert said(capsys, "--version")[1] == f"mpiboot {__version__}\n"
    assert json.loads(said(capsys, "version", "--json")[1])["mpiboot"] == __version__


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """All commands are on one page."""
    code, out, _ = said(capsys, "--help")
    assert code == 0
    commands = ("worker", "launcher", "plan", "local", "probe", "run", "pause", "resume")
    tools = ("doctor", "install", "uninstall", "config", "keygen", "schema", "version")
    for command in (*commands, *tools):
        assert f"mpiboot {command}" in out


def helped(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    """Return the paragraphs of an answer to --help."""
    with pytest.raises(SystemExit) as ended:
        cli.run([*argv, "--help"], {})
    assert ended.value.code == 0
    return capsys.readouterr().out.split("\n\n")


@pytest.mark.parametrize("name", [name for name, row in cli.COMMANDS.items() if row[1]])
def test_help_says_first_what_a_command_is_for(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Behind a short usage stands a sentence; the list of options comes after it."""
    usage, purpose, *_ = helped(capsys, name)
    assert usage.startswith(f"usage: mpiboot {name}")
    assert len(usage.splitlines()) <= 2
    assert purpose[0].isupper()
    assert purpose.endswith(".")


@pytest.mark.parametrize("name", ["worker", "launcher", "plan", "local"])
def test_help_has_the_purpose_of_the_table(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the page of all commands says of one stands in its own help, with its words."""
    usage, purpose, *_ = helped(capsys, name)
    words, told, _ = cli.COMMANDS[name]
    assert usage == f"usage: mpiboot {name} {words}"
    assert purpose.lower() == f"{told}.".lower()


def test_help_of_an_agent_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Options alone are answered as well: the role is told by something else."""
    usage, purpose, *_ = helped(capsys, "--debug")
    assert usage == f"usage: mpiboot {cli.AUTO[0]}"
    assert "MPIBOOT_ROLE" in purpose


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        ([], 64, "MPIBOOT_ROLE"),
        (["wrker"], 64, "nearest valid: worker"),
        (["launcher", "--hosts", "a"], 64, "no command for the job"),
        (["launcher", "--hostz", "a", "--", "x"], 64, "nearest valid: --hosts"),
        (["worker", "--hosts", "a"], 64, "unknown option --hosts"),
        (["launcher", "python3"], 64, "goes after --"),
        (["version", "x"], 64, "unrecognized arguments: x"),
        (["install", "--prefix", "x"], 64, "expected an absolute path"),
        (["install", "--nonsense"], 64, "mpiboot install --help"),
        (["shim"], 64, "for the scripts that `mpiboot install` lays"),
        (["config", "--config", "/nowhere.yaml"], 64, "cannot be read"),
        (["launcher", "--mca", "btl", "--", "x"], 64, "expected 2 arguments"),
        (["doctor", "--hostz", "a"], 64, "nearest valid: --hosts"),
        (["doctor", "--role", "queen"], 64, "--role"),
        (["doctor", "me"], 64, "unexpected word 'me'"),
    ],
)
def test_usage_errors(
    capsys: pytest.CaptureFixture[str], argv: list[str], code: int, told: str
) -> None:
    """64, nothing on stdout, and what to change."""
    got, out, err = said(capsys, *argv)
    assert (got, out) == (code, "")
    assert told in err
    assert "Traceback" not in err


def test_flags_of_the_other_role(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the role comes from outside, a flag of the other role is named."""
    monkeypatch.setenv("MPIBOOT_ROLE", "worker")
    code, _, err = said(capsys, "--hosts", "a", "--", "x")
    assert code == 64
    assert "--hosts is not for the worker" in err


def test_config_shows_values_and_origins(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each setting with its value and where it came from; the secret is masked."""
    monkeypatch.setenv("MPIBOOT_SECRET", "a-very-secret-secret")
    monkeypatch.setenv("MPIBOOT_NP", "3")
    code, out, _ = said(capsys, "config")
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in out.splitlines()}
    assert code == 0
    assert rows["np"] == ["3", "environment MPIBOOT_NP"]
    assert rows["secret"] == ["***", "environment MPIBOOT_SECRET"]
    assert rows["strikes"] == ["3", "default"]
    assert "a-very-secret" not in out


def test_bad_environment_is_78(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All problems at once, a line each."""
    monkeypatch.setenv("MPIBOOT_NP", "x")
    monkeypatch.setenv("MPIBOOT_STRIKES", "-1")
    code, _, err = said(capsys, "config")
    assert code == 78
    assert len(err.splitlines()) == 2


def test_schema_is_the_one_that_is_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    """`mpiboot schema` prints a JSON Schema of draft 2020-12, whatever the directory."""
    code, out, err = said(capsys, "schema")
    assert (code, err) == (0, "")
    assert json.loads(out)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_keygen_makes_different_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    """256 random bits on one line."""
    first, second = said(capsys, "keygen")[1], said(capsys, "keygen")[1]
    assert first != second
    assert len(first.strip()) == 43
