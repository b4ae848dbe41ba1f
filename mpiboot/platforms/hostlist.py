"""Hosts are given: --hosts (a list, or dns:NAME) or --hostfile. Whoever has them is the launcher."""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.hosts import Source, parse_hostfile, parse_source
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "host list"


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need the hostfile, when there is one."""
    return (settings.hostfile,) if settings.hostfile else ()


def identify(around: Surroundings) -> Identity | None:
    """Be the launcher when hosts were given."""
    if around.settings.hosts or around.settings.hostfile:
        return Identity(role="launcher", why="hosts are given here")
    return None


def source(around: Surroundings) -> Source | None:
    """Read the list or the file."""
    settings = around.settings
    if settings.hosts and settings.hostfile:
        raise ConfigError("both --hosts and --hostfile are given", hint="give one of them")
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


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:  # noqa: ARG001 - the Protocol's shape
    """Suggest nothing: a list alone says nothing of the place."""
    return {}
