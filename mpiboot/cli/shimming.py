"""Commands for YAML that calls sshd or mpirun itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot.cli.byrole import as_role
from mpiboot.cli.sources import default_signals, resolve
from mpiboot.roles import install as shims
from mpiboot.roles import shim as calls


def install(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Lay the shims, or check them."""
    default_signals()
    request = shims.parse("install", argv)
    if request.check:
        return shims.check(request, print)
    shims.install(request, env, print)
    return 0


def uninstall(argv: Sequence[str], _env: Mapping[str, str]) -> int:
    """Take the shims back."""
    default_signals()
    shims.uninstall(shims.parse("uninstall", argv), print)
    return 0


def shim(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Stand for a program that was called by its usual name."""
    call, resolved = calls.parse(argv), resolve("shim", [], env)
    return calls.run(
        call, resolved, env, lambda role, fitted, command: as_role(role, fitted, command, env)
    )
