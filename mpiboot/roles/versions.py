"""What a report of a fault has to say first: versions of the agent and of all that it works with."""

from __future__ import annotations

import asyncio
import json
import platform
import re
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from mpiboot import __version__
from mpiboot.errors import MpibootError
from mpiboot.plan import agreement
from mpiboot.runtime import files, inspect
from mpiboot.runtime.children import Children
from mpiboot.runtime.signals import SignalPump

SCHEMA = 1
_PROGRAMS = {"mpi": ("mpirun", "--version"), "ssh": ("ssh", "-V"), "sshd": ("sshd", "-V")}
_ASKED_S = 5.0
_PROJECT = re.compile(r"[A-Za-z0-9._-]+")
_OPENSSH = re.compile(r"OpenSSH_[\w.]+")


def text(env: Mapping[str, str]) -> str:
    """Return it as JSON; docs/version.md and version.schema.json describe it.

    Args:
        env: the environment, whose PATH says which MPI and OpenSSH are found.
    """
    return json.dumps(asyncio.run(_document(env)), indent=2) + "\n"


async def _document(env: Mapping[str, str]) -> dict[str, object]:
    children = Children()
    pump = SignalPump(lambda _number: None, children.reap)
    pump.start()
    try:
        asked = (_asked(children, name, words, env) for name, words in _PROGRAMS.items())
        programs = dict(zip(_PROGRAMS, await asyncio.gather(*asked), strict=True))
    finally:
        pump.stop()
    return {
        "schema": SCHEMA,
        "mpiboot": __version__,
        "revision": _revision(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": _platform(),
        "dependencies": _dependencies(),
        **programs,
    }


async def _asked(
    children: Children, name: str, words: tuple[str, str], env: Mapping[str, str]
) -> dict[str, str] | None:
    """Find a program and ask for its version; None where there is none."""
    path = inspect.find_program(words[0], env)
    if path is None:
        return None
    try:
        said = (await children.run([path, words[1]], timeout_s=_ASKED_S, env=env)).text
    except MpibootError as fault:
        return {"path": path, "version": "", "fault": str(fault)}
    if name == "mpi":
        return {"path": path, "version": agreement.called(said)}
    found = _OPENSSH.search(said)
    return {"path": path, "version": found[0] if found else ""}


def _revision() -> str:
    """Return the commit that the package was built of; empty where its build did not know it."""
    # Beside the package's own code: hatch_build.py has laid it there.
    return (files.head(str(Path(__file__).parents[1] / "revision.txt")) or "").strip()


def _platform() -> dict[str, str]:
    try:
        distribution = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        distribution = ""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()).strip(),
        "distribution": distribution,
    }


def _dependencies() -> dict[str, str | None]:
    """Return the version of each package that ours asks for; None where it is not installed."""
    try:
        wanted = metadata.requires("mpiboot") or []
    except metadata.PackageNotFoundError:  # a tree that nobody has installed
        return {}
    return {name: _installed(name) for name in sorted(map(_project, wanted))}


def _project(requirement: str) -> str:
    found = _PROJECT.match(requirement)
    return found[0] if found else requirement


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
