"""The script of fish: one `complete` for each option, with the commands that have it."""

from __future__ import annotations

from collections.abc import Sequence

from mpiboot.plan.completion.words import FOLLOWS, Command, Option, alike, named

_NONE = "none"  # stands for the command that nobody names

_HEAD = """\
# Completion of mpiboot for fish: ~/.config/fish/completions/mpiboot.fish, or
# mpiboot completion fish | source
"""

_BODY = """
function __mpiboot_in # before -- and after a command that is one of these
    set -l said (commandline -opc)
    contains -- -- $said; and return 1
    set -l command {none}
    if set -q said[2]; and contains -- $said[2] $__mpiboot_commands
        set command $said[2]
    end
    contains -- $command $argv
end

function __mpiboot_first
    test (count (commandline -opc)) -eq 1
end

function __mpiboot_job
    contains -- -- (commandline -opc)
end

function __mpiboot_job_words # after -- there is a command line of its own
    set -l said (commandline -opc)
    set -e said[1..(contains -i -- -- $said)]
    complete -C (string join ' ' -- (string escape -- $said) (commandline -ct))
end

complete -c mpiboot -e
complete -c mpiboot -f
complete -c mpiboot -n __mpiboot_job -a '(__mpiboot_job_words)'
"""


def script(commands: Sequence[Command]) -> str:
    """Return the script that completes these commands."""
    names = named(commands)
    lines = [f"set -g __mpiboot_commands {' '.join(one.name for one in names)}"]
    lines += [_BODY.replace("{none}", _NONE)]
    for one in names:
        lines.append(
            f"complete -c mpiboot -n __mpiboot_first -a {one.name} -d {_quoted(one.purpose)}"
        )
    for command in commands:
        if command.choices:
            lines.append(f"{_when([command.name])} -a {_quoted(' '.join(command.choices))}")
    for option, users in alike(commands).items():
        lines.append(f"{_when(users)} {_option(option)}")
    running = [one.name for one in commands if one.runs]
    if running:
        lines.append(f"{_when(running)} -a -- -d {_quoted(FOLLOWS)}")
    return _HEAD + "\n" + "\n".join(lines) + "\n"


def _when(users: Sequence[str]) -> str:
    called = " ".join(name or _NONE for name in users)
    return f"complete -c mpiboot -n {_quoted(f'__mpiboot_in {called}')}"


def _option(option: Option) -> str:
    words = []
    for flag in option.flags:
        name = flag.lstrip("-")
        sign = "-l" if flag.startswith("--") else "-s" if len(name) == 1 else "-o"
        words += [sign, name]
    if option.values:
        words.append({"file": "-r -F", "directory": "-x -a '(__fish_complete_directories)'"}.get(
            option.kind, "-x"
        ))  # fmt: skip
    if option.choices:
        words.append(f"-a {_quoted(' '.join(option.choices))}")
    return " ".join([*words, "-d", _quoted(option.help)])


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
