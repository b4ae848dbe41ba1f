"""What a platform module offers: who am I, who takes part, and what is usual here?

All of it is read, nothing is asked: from the environment, from files whose texts were read before,
from this container's own name and user.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mpiboot.model.hosts import Source
from mpiboot.model.record import dataclass
from mpiboot.model.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What can be seen from inside the container, as values.

    Attributes:
        env: the environment.
        files: texts of the files that platforms ask for, by path; absent files are left out.
        settings: what the user chose.
        hostname: this container's own name, as the kernel has it.
        uid: the user's number.
    """

    env: Mapping[str, str]
    files: Mapping[str, str]
    settings: Settings
    hostname: str = ""
    uid: int = 0


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The role of this container and what says so.

    Attributes:
        role: launcher or worker.
        why: what says so, in words.
        guessed: whether pods of any other kind look the same, and no setting says that this is one
            of a job of ours.
    """

    role: str
    why: str
    guessed: bool = False


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A value for a setting of which the user said nothing, and what says so."""

    value: object
    why: str


class Platform(Protocol):
    """One way in which containers learn their role and their peers."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module constant
        """How the platform is called in logs."""

    @property
    def VARIABLES(self) -> tuple[str, ...]:  # noqa: N802 - as above
        """Names, as globs, of the variables that tell this one container its place."""

    def files(self, settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:
        """Name the files whose texts the other functions need."""

    def identify(self, around: Surroundings) -> Identity | None:
        """Tell the role, or None when this platform does not say it."""

    def source(self, around: Surroundings) -> Source | None:
        """Tell the hosts or how to find them, or None when this platform does not say it.

        Raises:
            ConfigError: it does say it, in a way that cannot be read.
        """

    def suggest(self, around: Surroundings) -> Mapping[str, Suggestion]:
        """Give settings, by field name, the values that are usual here; none on another platform.

        What the user chose is never overruled by them; an earlier platform's count before a later's.
        """
