"""The command line: argv → settings → command → exit code; the only place that prints."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from mpiboot import __version__, log
from mpiboot.errors import ExitCode, MpibootError, ProblemsError, UsageError
from mpiboot.model import options, redacted
from mpiboot.model.options import ConfigFile, Resolved
from mpiboot.model.settings import Settings, specs
from mpiboot.model.spec import LAUNCHER, LOCAL, WORKER
from mpiboot.runtime import latch

_HELP = f"""mpiboot {__version__}: one agent, PID 1 in every container of an MPI job.

  mpiboot worker [options]              serve sshd, report readiness, leave with the job
  mpiboot launcher [options] -- CMD…    wait for the workers, run CMD with mpirun, tell the truth
  mpiboot [options] -- CMD…             the role comes from MPIBOOT_ROLE or the platform
  mpiboot plan [options] -- CMD…        show what the launcher would do, and why; do nothing
  mpiboot local [options] -- CMD…       run a whole job on this machine, in namespaces
  mpiboot doctor [options] [-- CMD…]    say what will fail in this container, and what to change
  mpiboot probe [--for ready|live]      ask the agent of this container; exit 0 or 1
  mpiboot run [--wait] [-- CMD…]        start the job of a launcher in debug mode
  mpiboot pause [--release-workers]     stop the job's ranks, so that it can be resumed
  mpiboot resume [--wait] [-- CMD…]     start a job that is paused again
  mpiboot config [--markdown]           show every setting, its value and where it came from
  mpiboot keygen [--out FILE]           make a job secret
  mpiboot install [--check]             let unchanged calls of sshd and mpirun reach mpiboot
  mpiboot uninstall                     undo that
  mpiboot schema [doctor]               show the JSON Schema of the status file, or of the doctor's
  mpiboot version [--json]              show the version

Options of a command: mpiboot COMMAND --help. Every option is also a variable (MPIBOOT_…) and a key
of the YAML file named by --config (default {options.DEFAULT_CONFIG}).
"""

Command = Callable[[Sequence[str], Mapping[str, str]], int]


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; every failure is one clear line and a code."""
    env = dict(os.environ)
    name, rest = (argv[0], argv[1:]) if argv and argv[0] in _COMMANDS else ("", argv)
    try:
        return _COMMANDS[name](rest, env)
    except MpibootError as fault:
        problems = fault.problems if isinstance(fault, ProblemsError) else [str(fault)]
        for problem in problems:
            _complain(problem)
        return int(fault.code)
    except KeyboardInterrupt:
        return 130


def _complain(text: str) -> None:
    print(f"mpiboot: {text}", file=sys.stderr)


def _auto(argv: Sequence[str], env: Mapping[str, str]) -> int:
    words, command = options.split_command(argv)
    if words in (["--help"], ["-h"], ["help"]):
        print(_HELP, end="")
        return 0
    if words == ["--version"]:
        return _version([], env)
    if words and not words[0].startswith("-"):
        close = options.nearest(words[0], [known for known in _COMMANDS if known])
        raise UsageError(f"unknown command {words[0]!r}{close}", hint="see mpiboot --help")
    resolved = _resolve("", words, env)
    role = _role_of(resolved.settings, env)
    strange = [
        f"option {spec.flag} is not for the {role}, which this container is"
        for spec in specs()
        if role not in spec.roles and resolved.origins[spec.name].startswith("flag")
    ]
    if strange:
        raise ProblemsError(strange, code=ExitCode.USAGE)
    return _as_role(role, resolved, command, env)


def _role_of(settings: Settings, env: Mapping[str, str]) -> str:
    from mpiboot import platforms  # noqa: PLC0415 - imports follow need: start-up time counts
    from mpiboot.roles import surroundings  # noqa: PLC0415

    return platforms.identify(surroundings.seen(settings, env)).role


def _worker(argv: Sequence[str], env: Mapping[str, str]) -> int:
    words, command = options.split_command(argv)
    return _as_role(WORKER, _resolve("worker", words, env, WORKER), command, env)


def _launcher(argv: Sequence[str], env: Mapping[str, str]) -> int:
    words, command = options.split_command(argv)
    return _as_role(LAUNCHER, _resolve("launcher", words, env, LAUNCHER), command, env)


def _as_role(
    role: str, resolved: Resolved, command: list[str] | None, env: Mapping[str, str]
) -> int:
    from mpiboot.roles import agent, surroundings  # noqa: PLC0415

    resolved = surroundings.fitted(resolved, env)
    settings = resolved.settings
    log.configure(role, level=settings.log_level, as_json=settings.log_format == "json")
    if role == WORKER:
        from mpiboot.roles import worker  # noqa: PLC0415

        if command:
            log.logger.info("a worker runs no command of its own: %s is the launcher's", command[0])
        code = agent.run(lambda: agent.Agent(role, settings, env, resolved.origins), worker.work)
    else:
        from mpiboot.roles import launcher  # noqa: PLC0415

        words = _needed(command)
        code = agent.run(
            lambda: agent.Agent(role, settings, env, resolved.origins),
            lambda made: launcher.Launcher(made, words).run(),
        )
    agent.leave(code)
    return code


def _plan(argv: Sequence[str], env: Mapping[str, str]) -> int:
    from mpiboot.roles import preview, surroundings  # noqa: PLC0415

    words, command = options.split_command(argv)
    resolved = surroundings.fitted(_resolve("plan", words, env, LAUNCHER), env)
    _default_signals()
    print(preview.text(resolved.settings, env, _needed(command)), end="")
    return 0


def _local(argv: Sequence[str], env: Mapping[str, str]) -> int:
    from mpiboot.local import command as local  # noqa: PLC0415
    from mpiboot.runtime import keys  # noqa: PLC0415

    words, command = options.split_command(argv)
    resolved = _resolve("local", words, env, LOCAL)
    settings = resolved.settings
    log.configure("local", level=settings.log_level, as_json=settings.log_format == "json")
    return local.run_local(
        workers=settings.workers or 2,
        slots=0 if settings.slots == "auto" else int(settings.slots),
        command=_needed(command),
        agent=[sys.executable, "-I", "-m", "mpiboot"],
        launcher_options=_forwarded(resolved),
        environment={k: v for k, v in env.items() if not k.startswith("MPIBOOT_")},
        secret=keys.new_secret(),
    )


def _forwarded(resolved: Resolved) -> list[str]:
    """Hand the launcher's options on to the launcher of the pods, as given."""
    words: list[str] = []
    for spec in specs(LOCAL):
        value = getattr(resolved.settings, spec.name)
        if spec.name in ("workers", "slots") or resolved.origins[spec.name] == options.DEFAULT:
            continue
        match spec.kind:
            case "flag":
                words.append(spec.flag if value else spec.flag.replace("--", "--no-", 1))
            case "words":
                words += [f"{spec.flag}={word}" for word in value]
            case "pairs":
                words += [w for pair in value for w in (spec.flag, *pair.split("=", 1))]
            case _:
                words.append(f"{spec.flag}={value}")
    return words


def _doctor(argv: Sequence[str], env: Mapping[str, str]) -> int:
    from mpiboot.roles import agent, doctor  # noqa: PLC0415

    request = doctor.parse(argv)
    code, text = doctor.run(request, lambda words: _resolve("doctor", words, env), env)
    print(text, end="")
    agent.leave(code)
    return code


def _probe(argv: Sequence[str], env: Mapping[str, str]) -> int:
    from mpiboot.roles import probe  # noqa: PLC0415

    _default_signals()
    made = argparse.ArgumentParser("mpiboot probe", allow_abbrev=False)
    made.add_argument("--for", dest="what", choices=("ready", "live"), default="ready")
    what = made.parse_args(list(argv)).what
    code, text = probe.run(what, _resolve("probe", [], env).settings.runtime_dir, env)
    print(text)
    return code


def _asking(verb: str) -> Command:
    def command(argv: Sequence[str], env: Mapping[str, str]) -> int:
        from mpiboot.plan.modes import Verb  # noqa: PLC0415
        from mpiboot.roles import asking  # noqa: PLC0415

        _default_signals()
        request = asking.parse(Verb(verb), argv)
        runtime_dir = _resolve(verb, [], env).settings.runtime_dir
        reply = asking.run(request, runtime_dir, env, lambda said: print(said, flush=True))
        if reply.vain:
            _complain(reply.text)
        else:
            print(reply.text)
        return reply.code

    return command


def _config(argv: Sequence[str], env: Mapping[str, str]) -> int:
    words, _ = options.split_command(argv)
    if words == ["--markdown"]:
        print(options.markdown(), end="")
        return 0
    from mpiboot.roles import surroundings  # noqa: PLC0415

    _default_signals()
    resolved = surroundings.fitted(_resolve("config", words, env), env)
    rows = []
    for spec in specs():
        value = getattr(resolved.settings, spec.name)
        rows.append((spec.key, redacted.shown(spec, value), resolved.origins[spec.name]))
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    for key, value, origin in rows:
        print(f"{key:<{widths[0]}}  {value:<{widths[1]}}  {origin}")
    return 0


def _keygen(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    from mpiboot.runtime import keys  # noqa: PLC0415

    _default_signals()
    made = argparse.ArgumentParser(
        "mpiboot keygen", allow_abbrev=False,
        description="Make the secret from which all keys of a job are derived.",
    )  # fmt: skip
    made.add_argument("--out", metavar="FILE", help="write it there, 0600, never over another")
    out = made.parse_args(list(argv)).out
    if not out:
        print(keys.new_secret())
        return 0
    keys.write_new_secret(out)
    return 0


def _install(argv: Sequence[str], env: Mapping[str, str]) -> int:
    from mpiboot.roles import install  # noqa: PLC0415

    _default_signals()
    request = install.parse("install", argv)
    if request.check:
        return install.check(request, print)
    install.install(request, env, print)
    return 0


def _uninstall(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    from mpiboot.roles import install  # noqa: PLC0415

    _default_signals()
    install.uninstall(install.parse("uninstall", argv), print)
    return 0


def _shim(argv: Sequence[str], env: Mapping[str, str]) -> int:
    from mpiboot.roles import shim  # noqa: PLC0415

    call, resolved = shim.parse(argv), _resolve("shim", [], env)
    return shim.run(
        call, resolved, env, lambda role, fitted, command: _as_role(role, fitted, command, env)
    )


def _schema(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    from mpiboot.report import schema  # noqa: PLC0415

    _default_signals()
    made = argparse.ArgumentParser(
        "mpiboot schema", allow_abbrev=False,
        description="Show the JSON Schema of the status file, or of what `mpiboot doctor --json` says.",
    )  # fmt: skip
    made.add_argument("what", nargs="?", choices=tuple(schema.SHIPPED), default="status")
    print(schema.text(made.parse_args(list(argv)).what), end="")
    return 0


def _version(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    if list(argv) == ["--json"]:
        import json  # noqa: PLC0415

        print(json.dumps({"mpiboot": __version__, "python": sys.version.split()[0]}))
        return 0
    if argv:
        raise UsageError(f"unexpected word {argv[0]!r}", hint="see mpiboot --help")
    print(f"mpiboot {__version__}")
    return 0


def _needed(command: list[str] | None) -> list[str]:
    if not command:
        raise UsageError(
            "no command for the job", hint="write it after --, as in: -- python train.py"
        )
    return command


def _resolve(name: str, words: Sequence[str], env: Mapping[str, str], role: str = "") -> Resolved:
    """Read all sources of settings for one command; flags of one role, or of all."""
    from mpiboot.runtime import files  # noqa: PLC0415

    prog = f"mpiboot {name}".strip()
    made = options.parser(prog, role, "")
    flags, problems = options.parse_flags(made, words)
    chosen = flags.pop("config", None) or env.get(options.CONFIG_VARIABLE)
    path = chosen or options.DEFAULT_CONFIG
    text = files.read_text(path)
    if chosen and text is None:
        problems.append(f"settings file {path} cannot be read")
    file = ConfigFile(name=path, text=text) if text is not None else None
    return options.resolve(flags, env, file, problems)


def _default_signals() -> None:
    """Let a short command die by signals as any other program."""
    number = latch.release()
    if number is not None:
        sys.exit(128 + number)


_COMMANDS: dict[str, Command] = {
    "": _auto,
    "worker": _worker,
    "launcher": _launcher,
    "plan": _plan,
    "local": _local,
    "doctor": _doctor,
    "probe": _probe,
    "run": _asking("run"),
    "pause": _asking("pause"),
    "resume": _asking("resume"),
    "config": _config,
    "keygen": _keygen,
    "install": _install,
    "uninstall": _uninstall,
    "shim": _shim,
    "schema": _schema,
    "version": _version,
}
