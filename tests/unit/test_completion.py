"""Completion knows every command, option and value that the command line takes, and no others."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from mpiboot import cli
from mpiboot.cli import completing
from mpiboot.model.settings import specs
from mpiboot.model.spec import WORKER
from mpiboot.plan.completion.words import Command, Option, brief
from mpiboot.report import schema

COMMANDS = completing.commands({})
BY_NAME = {one.name: one for one in COMMANDS}


def flags(command: Command) -> dict[str, Option]:
    return {flag: one for one in command.options for flag in one.flags}


def test_it_has_the_commands_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command that `--help` shows, with the same purpose; `shim` is in neither."""
    cli.run(["--help"])
    rows = re.findall(r"^  mpiboot (.*?)  +(.*)$", capsys.readouterr().out, re.MULTILINE)
    shown = {words.split()[0] if words[0].isalpha() else "": purpose for words, purpose in rows}
    assert shown == {one.name: one.purpose for one in COMMANDS}
    assert set(cli.COMMANDS) - set(BY_NAME) == {"shim"}


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.name], ids=lambda one: one.name)
def test_each_command_answers_help_with_what_is_completed(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    """0, and every option that the help has at the beginning of a line, and none besides."""
    with pytest.raises(SystemExit) as ended:
        cli.run([command.name, "--help"], {})
    assert ended.value.code == 0
    lines = re.findall(r"^  (-.*?)(?:   *|$)", capsys.readouterr().out, re.MULTILINE)
    shown = {re.split("[ =]", part)[0] for line in lines for part in line.split(", ")}
    assert shown == set(flags(command))
    assert all(one.help for one in command.options)


def test_without_a_command_every_setting_is_one() -> None:
    """`mpiboot --…` completes all settings, for nobody knows which role it will be."""
    known = flags(BY_NAME[""])
    assert {spec.flag for spec in specs()} | {"--version", "--help", "--config"} <= set(known)


def test_a_role_has_its_own_settings() -> None:
    """A worker's options are those of a worker."""
    assert "--hosts" not in flags(BY_NAME["worker"])
    wanted = {spec.flag for spec in specs(WORKER)}
    assert wanted <= set(flags(BY_NAME["worker"]))


def test_values() -> None:
    """Files, directories and choices are known as such; a flag that switches off is one that takes nothing."""
    known = flags(BY_NAME["launcher"])
    assert known["--hostfile"].kind == "file"
    assert known["--output-dir"].kind == "directory"
    assert known["--profile"].choices == ("horovod", "plain")
    assert known["--mca"].values == ("KEY", "VALUE")
    assert known["-x"].repeats
    assert not known["--np"].repeats
    assert known["--no-elastic"].values == known["--elastic"].values == ()
    assert flags(BY_NAME[""])["--role"].choices == ("launcher", "worker")
    assert BY_NAME["schema"].choices == tuple(schema.SHIPPED)


def test_who_takes_a_command_of_the_job() -> None:
    """Those whose words in the help have -- CMD."""
    assert {one.name for one in COMMANDS if one.runs} == {
        *("", "launcher", "plan", "local", "doctor", "run", "resume")
    }


def test_descriptions_are_brief() -> None:
    """The first part of a help, and that cut between words."""
    assert brief("ranks to start; else all slots (MPIBOOT_NP; default 0)") == "ranks to start"
    assert brief("word " * 30) == "word " * 15 + "…"


def test_it_costs_nothing_where_nobody_asks() -> None:
    """A start of the command line loads neither what completes nor a parser."""
    words = "import sys, mpiboot.__main__; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", words], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())
    assert "mpiboot.cli" in loaded
    assert not loaded & {"argparse", "mpiboot.model.flags", "mpiboot.plan.completion"}


def test_the_shell_has_to_be_one_of_three(capsys: pytest.CaptureFixture[str]) -> None:
    """64, and which there are."""
    assert cli.run(["completion", "tcsh"]) == 64
    assert "bash" in capsys.readouterr().err
    assert cli.run(["completion"]) == 64
