"""The role is declared: MPIBOOT_ROLE, or the flag of that name."""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.model.hosts import Source
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Identity, Suggestion, Surroundings

NAME = "declared"
VARIABLES: tuple[str, ...] = ()  # the settings are read elsewhere


def files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - the Protocol's shape
    """Need no file."""
    return ()


def identify(around: Surroundings) -> Identity | None:
    """Take the user's word."""
    role = around.settings.role
    return Identity(role=role, why="MPIBOOT_ROLE says so") if role else None


def source(around: Surroundings) -> Source | None:  # noqa: ARG001 - the Protocol's shape
    """Know nothing of hosts."""
    return None


def suggest(around: Surroundings) -> Mapping[str, Suggestion]:  # noqa: ARG001 - the Protocol's shape
    """Suggest nothing: a role alone says nothing of the place."""
    return {}
