"""Commands that show something or make it, and need no agent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from mpiboot import __version__
from mpiboot.cli.sources import default_signals, resolve
from mpiboot.errors import UsageError
from mpiboot.model import options, redacted
from mpiboot.model.settings import specs


def config(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Show every setting, its value and where it came from."""
    words, _ = options.split_command(argv)
    if words == ["--markdown"]:
        print(options.markdown(), end="")
        return 0
    from mpiboot.roles import surroundings  # noqa: PLC0415

    default_signals()
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


def schema(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    """Show a JSON Schema."""
    from mpiboot.report import schema  # noqa: PLC0415

    default_signals()
    made = argparse.ArgumentParser(
        "mpiboot schema", allow_abbrev=False,
        description="Show the JSON Schema of the status file, of a view, of what `mpiboot doctor --json` says,"
        " or of a line of the log in JSON.",
    )  # fmt: skip
    made.add_argument("what", nargs="?", choices=tuple(schema.SHIPPED), default="status")
    print(schema.text(made.parse_args(list(argv)).what), end="")
    return 0


def version(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    """Show the version."""
    if list(argv) == ["--json"]:
        import json  # noqa: PLC0415

        print(json.dumps({"mpiboot": __version__, "python": sys.version.split()[0]}))
        return 0
    if argv:
        raise UsageError(f"unexpected word {argv[0]!r}", hint="see mpiboot --help")
    print(f"mpiboot {__version__}")
    return 0
