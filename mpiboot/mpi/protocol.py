"""What a dialect offers: how one MPI wants to be called, and how it tells of failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from mpiboot.model.outcome import Failure
from mpiboot.model.record import dataclass

BUSY = "fewer CPUs than ranks: waiting ranks let others run"


@dataclass(frozen=True, kw_only=True)
class Node:
    """One line of the hostfile: the name as mpirun shall see it, and its slots."""

    name: str
    slots: int


@dataclass(frozen=True, kw_only=True)
class Export:
    """One variable for the ranks; value None takes it from mpirun's own environment.

    A value stands in process lists: only what would change mpirun itself is handed on by value.
    """

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
        rsh_agent: program to reach workers with in place of ssh, called as `PROGRAM HOST COMMAND`;
            empty: ssh.
        np: ranks to start.
        nodes: lines of the hostfile.
        as_root: whether mpirun runs as uid 0.
        dotted_names: whether a node name contains a dot that matters.
        horovod: whether the user wants what horovodrun would set.
        bind_to: what each rank is bound to; empty: this MPI's own default.
        why_bound: the reason for that.
        map_by: `slot`, `node` or `ppr:N:node`; empty: this MPI's own default.
        uneven: whether the workers have different numbers of slots.
        oversubscribe: whether more ranks than slots are wanted.
        networks: networks in CIDR form, or names of interfaces, that all hosts share; empty: nothing
            to choose.
        interface: name of the interface on those networks, where all hosts agree on it.
        last_index: the highest of the kernel's numbers of those interfaces; 0: none is known.
        own_address: address of this container as the workers reach it; empty when not known.
        own_interface: name of the interface with that address; empty when not known.
        busy: whether there are fewer CPUs than ranks somewhere, so that these must not spin.
        no_cma: whether a worker's ranks may not read each other's memory.
        raw_output: what `raw_output` of the dialect says, where pieces of lines come to mpirun at all.
        tag_output: whether mpirun itself shall put the rank before each line.
        timestamp_output: whether mpirun itself shall put the time before each line.
        no_stdin: whether mpirun has nothing to pass on from its stdin.
        wdir: the ranks' working directory; empty: mpirun's own, if it is there.
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
    command: Sequence[str]
    rsh_agent: str = ""
    dotted_names: bool = False
    horovod: bool = True
    bind_to: str = ""
    why_bound: str = ""
    map_by: str = ""
    uneven: bool = False
    oversubscribe: bool = False
    networks: Sequence[str] = ()
    interface: str = ""
    last_index: int = 0
    own_address: str = ""
    own_interface: str = ""
    busy: bool = False
    no_cma: bool = False
    raw_output: str = ""
    tag_output: bool = False
    timestamp_output: bool = False
    no_stdin: bool = False
    wdir: str = ""
    mca: Sequence[str] = ()
    mpirun_args: Sequence[str] = ()
    exports: Sequence[Export] = ()
    environ: Mapping[str, str]
    site_params: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Words:
    """Some words of the command line, with the reason for them."""

    words: tuple[str, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A variable of mpirun's own environment, with the reason for it."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """How mpirun is called.

    Attributes:
        words: the command line, in groups that have one reason each.
        variables: what is added to its environment.
    """

    words: tuple[Words, ...]
    variables: tuple[Variable, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a job takes of a container's limits, as it was measured with this MPI.

    Attributes:
        rank_shm_bytes: of /dev/shm, for each rank of a host.
        alone_too: whether a rank that is alone on its host takes that, too.
        rank_threads: threads of a rank that makes none itself, with its own.
    """

    rank_shm_bytes: int
    alone_too: bool
    rank_threads: int


class Dialect(Protocol):
    """One MPI implementation."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module constant
        """How the implementation is called in logs."""

    @property
    def FAMILY(self) -> str:  # noqa: N802 - a module constant
        """Whose programs it can start: `openmpi` or `mpich` (Intel MPI has MPICH's ABI)."""

    @property
    def PROGRAM(self) -> str:  # noqa: N802 - a module constant
        """Name of the program to call, beside `mpirun`; `mpirun` itself where it is missing."""

    @property
    def DAEMONS(self) -> tuple[str, ...]:  # noqa: N802 - a module constant
        """Process names of its daemons on a worker."""

    @property
    def LOSES_STDIN(self) -> bool:  # noqa: N802 - a module constant
        """Whether what a rank on another host should read from stdin is lost."""

    @property
    def SPOILS_STDOUT(self) -> bool:  # noqa: N802 - a module constant
        """Whether it makes its stdout non-blocking, for all who share it, and may lose output then."""

    @property
    def DIES_OF_SIGPIPE(self) -> bool:  # noqa: N802 - a module constant
        """Whether it dies, with 141, of a daemon that has gone, instead of telling what happened."""

    @property
    def CLOSES_EACH(self) -> bool:  # noqa: N802 - a module constant
        """Whether it closes every number up to its limit of open files for each worker it starts."""

    @property
    def NEEDS(self) -> Needs:  # noqa: N802 - a module constant
        """What its ranks need of a container's limits."""

    @property
    def SITE_FILES(self) -> tuple[str, ...]:  # noqa: N802 - a module constant
        """Files with site-wide parameters, relative to the prefix or absolute."""

    def raw_output(self, version: str) -> str:
        """Return what its option `--output` needs so that half a line stays with its rank and stream.

        Empty: nothing.
        """

    def recognise(self, version_text: str) -> str | None:
        """Tell the version from the text of `mpirun --version`, None when it is another MPI."""

    def hostfile(self, nodes: Sequence[Node], map_by: str) -> str:
        """Render the hostfile, for an MPI that places ranks by it alone as `map_by` wants."""

    def check_names(self, own_hostname: str, nodes: Sequence[Node]) -> str:
        """Tell what this MPI cannot bear in the names; empty when all is well."""

    def site_params(self, text: str) -> dict[str, str]:
        """Read a site-wide parameter file."""

    def unsupported(self, request: Request) -> list[str]:
        """Name what the user wants that this MPI cannot do, one sentence each."""

    def invocation(self, request: Request) -> Invocation:
        """Render the whole command line, group by group, and what its environment needs."""

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

    def survivor_code(self, stderr: str) -> int | None:
        """Tell the code of ranks that ended because another one's end broke their connection.

        None where mpirun's stderr tells of no such rank.
        """

    def exit_code(self, code: int, stderr: str) -> int:
        """Translate mpirun's own status into the job's: a rank's code, or 128 + its signal."""
