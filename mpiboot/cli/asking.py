"""Commands that ask: the agent of this container, or this container itself."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from mpiboot.cli.sources import default_signals, resolve
from mpiboot.plan.modes import Verb


def doctor(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Say what will fail in this container, and what to change."""
    from mpiboot.roles import agent  # noqa: PLC0415 - a probe is called often, and needs none of it
    from mpiboot.roles import doctor as doctors  # noqa: PLC0415

    request = doctors.parse(argv)
    code, text = doctors.run(request, lambda words: resolve("doctor", words, env), env)
    print(text, end="")
    agent.leave(code)
    return code


def probe(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Ask whether this container is ready, or alive."""
    from mpiboot.model import flags  # noqa: PLC0415
    from mpiboot.roles import probe as probes  # noqa: PLC0415

    default_signals()
    made = flags.bare("mpiboot probe", "Ask whether this container is ready, or alive.")
    made.add_argument(
        "--for", dest="what", choices=("ready", "live"), default="ready",
        help="what to ask (default ready)",
    )  # fmt: skip
    what = made.parse_args(list(argv)).what
    code, text = probes.run(what, resolve("probe", [], env).settings.runtime_dir, env)
    print(text)
    return code


def status(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Show the job of this container."""
    from mpiboot.roles import status as statuses  # noqa: PLC0415 - as above

    default_signals()
    request = statuses.parse(argv)
    reply = statuses.run(request, resolve("status", [], env).settings, env)
    if reply.fault:
        print(f"mpiboot: {reply.fault}", file=sys.stderr)
    return reply.code


def run(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Start the job of a launcher in debug mode."""
    return _ask(Verb.RUN, argv, env)


def pause(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Stop the job's ranks, so that it can be resumed."""
    return _ask(Verb.PAUSE, argv, env)


def resume(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Start a job that is paused again."""
    return _ask(Verb.RESUME, argv, env)


def _ask(verb: Verb, argv: Sequence[str], env: Mapping[str, str]) -> int:
    from mpiboot.roles import asking  # noqa: PLC0415

    default_signals()
    request = asking.parse(verb, argv)
    runtime_dir = resolve(verb.value, [], env).settings.runtime_dir
    reply = asking.run(request, runtime_dir, env, lambda said: print(said, flush=True))
    if reply.vain:
        print(f"mpiboot: {reply.text}", file=sys.stderr)
    else:
        print(reply.text)
    return reply.code
