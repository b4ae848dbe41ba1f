"""What a platform module offers: who am I, and who takes part?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from mpiboot.model.hosts import Source
from mpiboot.model.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What can be seen from inside the container, as values.

    Attributes:
        env: the environment.
        files: texts of the files that platforms ask for, by path; absent files are left out.
        settings: what the user chose.
    """

    env: Mapping[str, str]
    files: Mapping[str, str]
    settings: Settings


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The role of this container and what says so."""

    role: str
    why: str


class Platform(Protocol):
    """One way in which containers learn their role and their peers."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module constant
        """How the platform is called in logs."""

    def files(self, settings: Settings) -> tuple[str, ...]:
        """Name the files whose texts the other functions need."""

    def identify(self, around: Surroundings) -> Identity | None:
        """Tell the role, or None when this platform does not say it."""

    def source(self, around: Surroundings) -> Source | None:
        """Tell the hosts or how to find them, or None when this platform does not say it.

        Raises:
            ConfigError: it does say it, in a way that cannot be read.
        """
