"""Hosts are given: --hosts, --hostfile or --host-script. Whoever has them is the launcher."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.hosts import Scripted, Source, parse_hostfile, parse_source
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "host list"
VARIABLES: tuple[str, ...] = ()  # hosts are settings


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need the hostfile, when there is one."""
    return (settings.hostfile,) if settings.hostfile else ()


def identify(around: Surroundings) -> Identity | None:
    """Be the launcher when hosts were given."""
    settings = around.settings
    if settings.hosts or settings.hostfile or settings.host_script:
        return Identity(role="launcher", why="hosts are given here")
    return None


def source(around: Surroundings) -> Source | None:
    """Read the list or the file, or tell the program."""
    settings = around.settings
    flags = ("--hosts", "--hostfile", "--host-script")
    values = (settings.hosts, settings.hostfile, settings.host_script)
    given = [flag for flag, value in zip(flags, values, strict=True) if value]
    if len(given) > 1:
        raise ConfigError(f"both {given[0]} and {given[1]} are given", hint="give one of them")
    if settings.host_script:
        return Scripted(command=_words(settings.host_script), count=settings.workers or None)
    if settings.hosts:
        return parse_source(settings.hosts, settings.workers)
    if settings.hostfile:
        text = around.files.get(settings.hostfile)
        if text is None:
            raise ConfigError(
                f"hostfile {settings.hostfile} cannot be read", hint="check the path and its mode"
            )
        return parse_hostfile(text, settings.hostfile)
    return None


def _words(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as fault:
        raise ConfigError(
            f"--host-script {text[:80]!r} cannot be split into words: {str(fault).lower()}",
            hint="quote it as in a shell",
        ) from fault
    if not words:
        raise ConfigError("--host-script names no program", hint="write its path")
    return words


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:  # noqa: ARG001 - the Protocol's shape
    """Suggest nothing: a list alone says nothing of the place."""
    return {}
