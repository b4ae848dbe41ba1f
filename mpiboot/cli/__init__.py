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

_HELP = f"""mpiboot {__version__}: one agent, PID 1 in every container of an MPI job.

  mpiboot worker [options]              serve sshd, report readiness, leave with the job
  mpiboot launcher [options] -- CMD…    wait for the workers, run CMD with mpirun, tell the truth
  mpiboot [options] -- CMD…             the role comes from MPIBOOT_ROLE or the platform
  mpiboot plan [options] -- CMD…        show what the launcher would do, and why; do nothing
  mpiboot local [options] -- CMD…       run a whole job on this machine, in namespaces
  mpiboot doctor [options] [-- CMD…]    say what will fail in this container, and what to change
  mpiboot probe [--for ready|live]      ask the agent of this container; exit 0 or 1
  mpiboot status [--watch] [--json]     show the job: workers, ranks, what they use, how it ended
  mpiboot run [--wait] [-- CMD…]        start the job of a launcher in debug mode
  mpiboot pause [--release-workers]     stop the job's ranks, so that it can be resumed
  mpiboot resume [--wait] [-- CMD…]     start a job that is paused again
  mpiboot config [--markdown]           show every setting, its value and where it came from
  mpiboot keygen [--out FILE]           make a job secret
  mpiboot install [--check]             let unchanged calls of sshd and mpirun reach mpiboot
  mpiboot uninstall                     undo that
  mpiboot schema [view|doctor|log]      show the JSON Schema of the status file, or of another document
  mpiboot explain CODE|MESSAGE          say what it means, and what helps
  mpiboot version [--json]              show the version

Options of a command: mpiboot COMMAND --help. Every option is also a variable (MPIBOOT_…) and a key
of the YAML file named by --config (default {options.DEFAULT_CONFIG}).
"""

# Where each command is, imported when it is called: start-up time counts.
_COMMANDS = {
    "worker": ("byrole", "worker"),
    "launcher": ("byrole", "launcher"),
    "plan": ("byrole", "plan"),
    "local": ("here", "local"),
    "doctor": ("asking", "doctor"),
    "probe": ("asking", "probe"),
    "status": ("asking", "status"),
    "run": ("asking", "run"),
    "pause": ("asking", "pause"),
    "resume": ("asking", "resume"),
    "config": ("showing", "config"),
    "keygen": ("showing", "keygen"),
    "install": ("shimming", "install"),
    "uninstall": ("shimming", "uninstall"),
    "shim": ("shimming", "shim"),
    "schema": ("showing", "schema"),
    "explain": ("explaining", "explain"),
    "version": ("showing", "version"),
}


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
        print(_HELP, end="", flush=True)
        return 0
    code = int(getattr(importlib.import_module(f"mpiboot.cli.{module}"), function)(words, env))
    sys.stdout.flush()
    return code


def _find(argv: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    """Return module, function and the words for it; no module: the help is wanted.

    Raises:
        UsageError: there is no such command.
    """
    if argv and argv[0] in _COMMANDS:
        return (*_COMMANDS[argv[0]], argv[1:])
    words, _ = options.split_command(argv)
    if words in (["--help"], ["-h"], ["help"]):
        return "", "", ()
    if words == ["--version"]:
        return "showing", "version", ()
    if words and not words[0].startswith("-"):
        close = options.nearest(words[0], list(_COMMANDS))
        raise UsageError(f"unknown command {words[0]!r}{close}", hint="see mpiboot --help")
    return "byrole", "auto", argv
