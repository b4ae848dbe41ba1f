"""Open MPI 5: PRRTE underneath, prted on the workers, two dashes only.

Measured on 5.0.7 and 5.0.11. PRRTE reads its own parameters (PRTE_MCA_*, --prtemca) and ignores the
OMPI_MCA_orte_* ones that operators set: everything that matters stands on the command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mpiboot.model.outcome import Failure
from mpiboot.mpi import openmpi
from mpiboot.mpi.openmpi import Param, Texts
from mpiboot.mpi.protocol import Invocation, Needs, Node, Request, Words

NAME = "Open MPI 5"
FAMILY = openmpi.FAMILY
PROGRAM = "mpirun"
DAEMONS = ("prted",)
LOSES_STDIN = True
SPOILS_STDOUT = True
DIES_OF_SIGPIPE = False
CLOSES_EACH = False
SITE_FILES = openmpi.SITE_FILES
# From this release on it puts half a line only before the rest of the same line. Until then (5.0.7,
# 5.0.8, 5.0.10) half a line that waits for its rest may come out with another rank's line, and on the
# other stream; `raw` lets pieces through as they come, as Open MPI 4 does.
_KEEPS_HALVES = (5, 0, 11)
# Segments of `btl sm`: where more than 16 MiB are not free it makes none, and without TCP the job fails.
NEEDS = Needs(rank_shm_bytes=16 << 20, alone_too=False, rank_threads=2)

hostfile = openmpi.hostfile
site_params = openmpi.site_params
unsupported = openmpi.unsupported
exit_code = openmpi.exit_code

# PRRTE keeps the kernel's number of an interface in 16 bits; an interface beyond is never the one
# that it is told to use. A node that has made many pods gives its next ones such numbers.
_LAST_INDEX = 32767

_VERSION = re.compile(r"\(Open MPI\)\s+([5-9]\.\d+\.\d+\S*)")
_NUMBERS = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_TEXTS = Texts(
    signal=re.compile(
        r"prte(?:run)? noticed that process rank (\d{1,9}) with PID (\d+) on node (\S+) exited on signal (\d{1,2})\b"
    ),
    code=re.compile(
        r"Process name: \[prte(?:run)?-\S+-\d+@\d+,(\d{1,9})\]\s+Exit code:\s+(\d{1,9})"
    ),
    abort=re.compile(r"MPI_ABORT was invoked on rank (\d{1,9}) .{0,160}?Errorcode:\s*(-?\d{1,12})"),
    lost=re.compile(
        r"PRTE has lost communication with a remote daemon.{0,300}?"
        r"Remote daemon: .{0,80}?on node (\S+)"
    ),
    no_daemon=re.compile(
        r"(?:PRTE|prterun) was unable to reliably start one or more daemons"
        r"|An PRTE daemon has unexpectedly failed after launch"
    ),
    no_command=re.compile(r"prted: (?:command )?not found|prted: No such file"),
    daemon="prted",
)
_NO_PROGRAM = re.compile(r"prterun was unable to find the specified executable file")
# From mpirun, or from the rank itself where that is all that is left of it.
_SURVIVOR = re.compile(
    r"\*\*\* An error occurred in Socket closed"
    r"|mca_btl_tcp_frag_(?:send|recv): (?:writev|readv) failed: (?:Broken pipe|Connection reset)"
)
_NO_ACCESS = re.compile(
    r"prterun was unable to launch the specified application as it (?:lacked permissions to execute"
    r"|could not access) an executable"
)


def recognise(version_text: str) -> str | None:
    """Tell the version of an Open MPI 5, or of a later one until it proves different."""
    found = _VERSION.search(version_text)
    return found.group(1) if found else None


def check_names(_own_hostname: str, _nodes: Sequence[Node]) -> str:
    """PRRTE takes any name that resolves."""
    return ""


def invocation(request: Request) -> Invocation:
    """Render mpirun's command line."""
    own = openmpi.UserFlags(request)
    kinds = [
        kind
        for kind, wanted in (("tag", request.tag_output), ("timestamp", request.timestamp_output))
        if wanted
    ]
    output: list[Words] = []
    if kinds and own.unless(("--tag-output",), ""):
        output.append(
            Words(words=("--output", ",".join(kinds) + request.raw_output), reason="yours")
        )
    elif request.raw_output:
        reason = "half a line of one rank would come out with another's, and on its stream"
        output += own.unless(("--output", request.raw_output), reason)
    if request.no_stdin:
        reason = "a rank on another host would wait for its end for ever"
        output += own.unless(("--stdin", "none"), reason)
    words = openmpi.words(request, tuple(_params(request)), output, _LAST_INDEX)
    return Invocation(words=tuple(words))


def raw_output(version: str) -> str:
    """Tell releases that mix half lines to let pieces through as they come."""
    found = _NUMBERS.match(version)
    old = found is not None and tuple(int(number) for number in found.groups()) < _KEEPS_HALVES
    return ":raw" if old else ""


def _params(request: Request) -> Iterator[Param]:
    yield Param(
        name="plm", value="ssh", reason="over ssh, also inside a batch system's allocation",
        flag="--prtemca",
    )  # fmt: skip
    if request.dotted_names:
        yield Param(
            name="prte_keep_fqdn_hostnames", value="1",
            reason="names differ only after the first dot", flag="--prtemca",
        )  # fmt: skip


def failures(stderr: str) -> list[Failure]:
    """Read what prterun says of ranks and daemons."""
    return openmpi.failures(stderr, _TEXTS)


def start_failed(stderr: str) -> bool:
    """Tell whether daemons could not be started; no rank runs then."""
    return openmpi.start_failed(stderr, _TEXTS)


def command_fault(stderr: str, *, exists: bool) -> int | None:
    """Tell 127 or 126 for a program that is not there or cannot be executed; prterun has 66 and 183."""
    text = openmpi.folded(stderr)
    if _NO_ACCESS.search(text):
        return 126 if exists or "lacked permissions" in text else 127
    return 127 if _NO_PROGRAM.search(text) else None


def survivor_code(stderr: str) -> int | None:
    """Tell that a rank gave up because the connection to another one had broken."""
    return 14 if _SURVIVOR.search(stderr) else None
