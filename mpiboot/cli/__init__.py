"""The command line: argv → settings → command → exit code; the only place that prints."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from mpiboot import __version__
from mpiboot.errors import MpibootError, ProblemsError, UsageError
from mpiboot.model import options

_REST = f"""
Options of a command: mpiboot COMMAND --help. Every option is also a variable (MPIBOOT_…) and a key
of the YAML file named by --config (default {options.DEFAULT_CONFIG}).
"""

# Every command: its words, its purpose, and the module that has a function of its name, imported
# when it is called: start-up time counts. The help and the shells' completion are made of this;
# a command without a purpose is for programs, and in neither.
COMMANDS = {
    "worker": ("[options]", "serve sshd, report readiness, leave with the job", "byrole"),
    "launcher": (
        "[options] -- CMD…",
        "wait for the workers, run CMD with mpirun, tell the truth",
        "byrole",
    ),
    "plan": (
        "[options] -- CMD…",
        "show what the launcher would do, and why; do nothing",
        "byrole",
    ),
    "local": ("[options] -- CMD…", "run a whole job on this machine, in namespaces", "here"),
    "doctor": (
        "[options] [-- CMD…]",
        "say what will fail in this container, and what to change",
        "asking",
    ),
    "probe": ("[--for ready|live]", "ask the agent of this container; exit 0 or 1", "asking"),
    "status": (
        "[--watch] [--json]",
        "show the job: workers, ranks, what they use, how it ended",
        "asking",
    ),
    "run": ("[--wait] [-- CMD…]", "start the job of a launcher in debug mode", "asking"),
    "pause": ("[--release-workers]", "stop the job's ranks, so that it can be resumed", "asking"),
    "resume": ("[--wait] [-- CMD…]", "start a job that is paused again", "asking"),
    "config": (
        "[--markdown]",
        "show every setting, its value and where it came from",
        "showing",
    ),
    "keygen": ("[--out FILE]", "make a job secret", "showing"),
    "install": (
        "[--check]",
        "let unchanged calls of sshd and mpirun reach mpiboot",
        "shimming",
    ),
    "uninstall": ("", "undo that", "shimming"),
    "shim": ("", "", "shimming"),
    "schema": ("[NAME]", "show the JSON Schema of what programs read", "showing"),
    "explain": ("CODE|MESSAGE", "say what it means, and what helps", "explaining"),
    "completion": ("SHELL", "print what lets bash, zsh or fish complete mpiboot", "completing"),
    "version": ("[--json]", "show the version", "showing"),
}
# The command that nobody names, and where it stands among the others.
AUTO = ("[options] -- CMD…", "the role comes from MPIBOOT_ROLE or the platform", "byrole")
_AUTO_AT = 2


def run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """Run one command and return its exit code; every failure is one clear line and a code.

    Args:
        argv: its words.
        env: the environment that it was started in; None: the one that we have.
    """
    try:
        return _call(argv, dict(os.environ) if env is None else env)
    except MpibootError as fault:
        problems = fault.problems if isinstance(fault, ProblemsError) else [str(fault)]
        for problem in problems:
            print(f"mpiboot: {problem}", file=sys.stderr)
        return int(fault.code)
    except BrokenPipeError:  # who read our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 130


def _call(argv: Sequence[str], env: Mapping[str, str]) -> int:
    module, function, words = _find(argv)
    if not module:
        print(_help(), end="", flush=True)
        return 0
    code = int(getattr(importlib.import_module(f"mpiboot.cli.{module}"), function)(words, env))
    sys.stdout.flush()
    return code


def _find(argv: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    """Return module, function and the words for it; no module: the help is wanted.

    Raises:
        UsageError: there is no such command.
    """
    if argv and argv[0] in COMMANDS:
        return COMMANDS[argv[0]][2], argv[0], argv[1:]
    words, _ = options.split_command(argv)
    if words in (["--help"], ["-h"], ["help"]):
        return "", "", ()
    if words == ["--version"]:
        return "showing", "version", ()
    if words and not words[0].startswith("-"):
        close = options.nearest(words[0], [name for name, row in COMMANDS.items() if row[1]])
        raise UsageError(f"unknown command {words[0]!r}{close}", hint="see mpiboot --help")
    return "byrole", "auto", argv


def _help() -> str:
    rows = [(f"mpiboot {name} {row[0]}", row[1]) for name, row in COMMANDS.items() if row[1]]
    rows.insert(_AUTO_AT, (f"mpiboot {AUTO[0]}", AUTO[1]))
    width = max(len(words) for words, _ in rows)
    lines = [f"  {words:<{width}}  {purpose}" for words, purpose in rows]
    head = f"mpiboot {__version__}: one agent, PID 1 in every container of an MPI job."
    return "\n".join([head, "", *lines, _REST])
