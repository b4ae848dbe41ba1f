"""What a dialect offers: how one MPI wants to be called, and how it tells of failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mpiboot.model.outcome import Failure


@dataclass(frozen=True, kw_only=True)
class Node:
    """One line of the hostfile: the name as mpirun shall see it, and its slots."""

    name: str
    slots: int


@dataclass(frozen=True, kw_only=True)
class Export:
    """One variable for the ranks; value None takes it from mpirun's own environment."""

    name: str
    value: str | None
    reason: str

    @property
    def word(self) -> str:
        """The form NAME or NAME=VALUE."""
        return self.name if self.value is None else f"{self.name}={self.value}"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be run, in terms that mean the same for every MPI.

    Attributes:
        mpirun: path of the launcher program.
        hostfile: path where the hostfile will stand.
        ssh_config: path where the ssh_config will stand.
        np: ranks to start.
        nodes: lines of the hostfile.
        as_root: whether mpirun runs as uid 0.
        dotted_names: whether a node name contains a dot that matters.
        mca: the user's MCA parameters, KEY=VALUE.
        mpirun_args: the user's own words for mpirun.
        exports: variables for the ranks.
        environ: the environment mpirun will have; parameters set there are the user's.
        site_params: parameters of the site's own MCA file.
        command: the job.
    """

    mpirun: str
    hostfile: str
    ssh_config: str
    np: int
    nodes: int
    as_root: bool
    dotted_names: bool
    mca: Sequence[str]
    mpirun_args: Sequence[str]
    exports: Sequence[Export]
    environ: Mapping[str, str]
    site_params: Mapping[str, str]
    command: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Words:
    """Some words of the command line, with the reason for them."""

    words: tuple[str, ...]
    reason: str


class Dialect(Protocol):
    """One MPI implementation."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module constant
        """How the implementation is called in logs."""

    @property
    def DAEMON(self) -> str:  # noqa: N802 - a module constant
        """Process name of its daemon on a worker."""

    @property
    def SITE_FILES(self) -> tuple[str, ...]:  # noqa: N802 - a module constant
        """Files with site-wide parameters, relative to the prefix or absolute."""

    def recognise(self, version_text: str) -> str | None:
        """Tell the version from the text of `mpirun --version`, None when it is another MPI."""

    def hostfile(self, nodes: Sequence[Node]) -> str:
        """Render the hostfile."""

    def check_names(self, own_hostname: str, nodes: Sequence[Node]) -> str:
        """Tell what this MPI cannot bear in the names; empty when all is well."""

    def site_params(self, text: str) -> dict[str, str]:
        """Read a site-wide parameter file."""

    def command(self, request: Request) -> list[Words]:
        """Render the whole command line, group by group."""

    def failures(self, stderr: str) -> list[Failure]:
        """Read failures of ranks and daemons from the end of mpirun's stderr, first cause first."""

    def start_failed(self, stderr: str) -> bool:
        """Tell whether mpirun ended before any rank ran, for want of daemons."""

    def command_fault(self, stderr: str, *, exists: bool) -> int | None:
        """Tell 127 or 126 when the job's program was not found or not executable.

        Args:
            stderr: the end of mpirun's stderr.
            exists: whether the program, as a path, exists in the launcher's container: decides
                where mpirun's words do not.
        """
