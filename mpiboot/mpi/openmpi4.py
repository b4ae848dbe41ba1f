"""Open MPI 4: ORTE, orted, single-word MCA parameters.

Each choice here was measured on 4.1.4; where a default exists only in containers (no ptrace, no
fabric), the reason says so and `mpiboot plan` shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mpiboot.model.outcome import Failure
from mpiboot.mpi import openmpi
from mpiboot.mpi.openmpi import Param, Texts
from mpiboot.mpi.protocol import Invocation, Needs, Node, Request, Words

NAME = "Open MPI 4"
FAMILY = openmpi.FAMILY
PROGRAM = "mpirun"
DAEMONS = ("orted",)
LOSES_STDIN = False
SPOILS_STDOUT = False
DIES_OF_SIGPIPE = False
CLOSES_EACH = True
SITE_FILES = openmpi.SITE_FILES
# Segments of `btl vader`, allocated as they are used: large messages to all others used 1 MiB of 4.
NEEDS = Needs(rank_shm_bytes=4 << 20, alone_too=False, rank_threads=3)

hostfile = openmpi.hostfile
site_params = openmpi.site_params
unsupported = openmpi.unsupported
exit_code = openmpi.exit_code

_VERSION = re.compile(r"\(Open MPI\)\s+(4\.\d+\.\d+\S*)")
_LEGAL_NAME = re.compile(r"[A-Za-z0-9.-]+", re.ASCII)
_TEXTS = Texts(
    signal=re.compile(
        r"mpirun noticed that process rank (\d{1,9}) with PID (\d+) on node (\S+) exited on signal (\d{1,2})\b"
    ),
    code=re.compile(r"Process name: \[\[\d+,\d+\],(\d{1,9})\]\s+Exit code:\s+(\d{1,9})"),
    abort=re.compile(
        r"MPI_ABORT was invoked on rank (\d{1,9}) .{0,80}?with errorcode (-?\d{1,12})"
    ),
    lost=re.compile(
        r"ORTE has lost communication with a remote daemon.{0,300}?"
        r"Remote daemon: .{0,80}?on node (\S+)"
    ),
    no_daemon=re.compile(
        r"ORTE was unable to reliably start one or more daemons"
        r"|An ORTE daemon has unexpectedly failed after launch"
    ),
    no_command=re.compile(r"orted: (?:command )?not found|bash: \S*orted: No such file"),
    daemon="orted",
)
_NO_PROGRAM = re.compile(r"mpirun was unable to find the specified executable file")
_NO_ACCESS = re.compile(r"as it could not access or execute an executable")
_NO_EXEC = re.compile(r'tried to fork a new process via the "execve" system call but failed')


def recognise(version_text: str) -> str | None:
    """Tell the version of an Open MPI 4."""
    found = _VERSION.search(version_text)
    return found.group(1) if found else None


def raw_output(_version: str) -> str:
    """Pieces of lines come as they are written."""
    return ""


def check_names(own_hostname: str, nodes: Sequence[Node]) -> str:
    """Refuse what ORTE's name encoder refuses: anything but letters, digits, dots and hyphens."""
    if not _LEGAL_NAME.fullmatch(own_hostname):
        return (
            f"Open MPI 4 cannot run where the hostname is {own_hostname!r}: it allows only letters,"
            " digits, dots and hyphens in it"
        )
    bad = [node.name for node in nodes if not _LEGAL_NAME.fullmatch(node.name)]
    return f"Open MPI 4 refuses the node name {bad[0]!r}" if bad else ""


def invocation(request: Request) -> Invocation:
    """Render mpirun's command line."""
    own = openmpi.UserFlags(request)
    output: list[Words] = []
    if request.tag_output:
        output += own.unless(("--tag-output",), "yours")
    if request.timestamp_output:
        output += own.unless(("--timestamp-output",), "yours")
    return Invocation(words=tuple(openmpi.words(request, tuple(_params(request)), output)))


def _params(request: Request) -> Iterator[Param]:
    yield Param(name="plm", value="rsh", reason="over ssh, also inside a batch system's allocation")
    if request.dotted_names:
        reason = "names differ only after the first dot"
        yield Param(name="orte_keep_fqdn_hostnames", value="1", reason=reason)
    if request.no_cma:
        reason = "ranks may not read each other's memory here: avoids an error line per message"
        yield Param(name="btl_vader_single_copy_mechanism", value="none", reason=reason)


def failures(stderr: str) -> list[Failure]:
    """Read what mpirun says of ranks and daemons."""
    return openmpi.failures(stderr, _TEXTS)


def start_failed(stderr: str) -> bool:
    """Tell whether daemons could not be started; no rank runs then."""
    return openmpi.start_failed(stderr, _TEXTS)


def command_fault(stderr: str, *, exists: bool) -> int | None:
    """Tell 127 or 126 for a program that is not there or cannot be executed.

    Of a path, 4.1.4 says the same in both cases. The status itself (131, 132, 134) is mpirun's own
    and would be taken for a death by signal.
    """
    text = openmpi.folded(stderr)
    if _NO_EXEC.search(text):
        return 126
    if _NO_ACCESS.search(text):
        return 126 if exists else 127
    return 127 if _NO_PROGRAM.search(text) else None


def survivor_code(_stderr: str) -> int | None:
    """There is no code of its own for that."""
    return None
