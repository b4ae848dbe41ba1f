"""Commands that show something or make it, and need no agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot import __version__
from mpiboot.cli.sources import default_signals, resolve
from mpiboot.errors import UsageError
from mpiboot.model import flags, options, redacted
from mpiboot.model.settings import specs


def config(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Show every setting, its value and where it came from."""
    from mpiboot.roles import surroundings  # noqa: PLC0415

    default_signals()
    made = flags.bare(
        "mpiboot config", "Show every setting, its value and where it came from.", settings=""
    )
    made.add_argument(
        "--markdown", action="store_true", help="show what docs/settings.md has, and no values"
    )
    given, words = made.parse_known_args(options.split_command(argv)[0])
    if given.markdown:
        if words:
            raise UsageError(f"unexpected word {words[0]!r}: --markdown stands alone")
        print(options.markdown(), end="")
        return 0
    resolved = surroundings.fitted(resolve("config", words, env), env)
    rows = []
    for spec in specs():
        value = getattr(resolved.settings, spec.name)
        rows.append((spec.key, redacted.shown(spec, value), resolved.origins[spec.name]))
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    for key, value, origin in rows:
        print(f"{key:<{widths[0]}}  {value:<{widths[1]}}  {origin}")
    return 0


def keygen(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    """Make a job secret."""
    from mpiboot.runtime import keys  # noqa: PLC0415

    default_signals()
    made = flags.bare("mpiboot keygen", "Make the secret from which all keys of a job are derived.")
    made.add_argument("--out", metavar="FILE", help="write it there, 0600, never over another")
    out = made.parse_args(list(argv)).out
    if not out:
        print(keys.new_secret())
        return 0
    keys.write_new_secret(out)
    return 0


def schema(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    """Show a JSON Schema."""
    from mpiboot.report import schema  # noqa: PLC0415

    default_signals()
    made = flags.bare(
        "mpiboot schema",
        "Show the JSON Schema of the status file, or of another document that programs read.",
    )
    made.add_argument("what", nargs="?", choices=tuple(schema.SHIPPED), default="status")
    print(schema.text(made.parse_args(list(argv)).what), end="")
    return 0


def version(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Show the version."""
    if not argv:  # what programs ask most; to parse nothing takes as long as all the rest
        print(f"mpiboot {__version__}")
        return 0
    made = flags.bare("mpiboot version", "Show the version.")
    made.add_argument(
        "--json", action="store_true", help="with Python, platform, dependencies, MPI and OpenSSH"
    )
    if not made.parse_args(list(argv)).json:
        print(f"mpiboot {__version__}")
        return 0
    from mpiboot.roles import versions  # noqa: PLC0415

    default_signals()
    print(versions.text(env), end="")
    return 0
