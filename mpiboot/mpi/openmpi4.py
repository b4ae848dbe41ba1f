"""Open MPI 4: ORTE, orted, single-word MCA parameters.

Each choice here was measured on 4.1.4; where a default exists only in containers (no ptrace, no
fabric), the reason says so and `mpiboot plan` shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from mpiboot.model.outcome import Failure
from mpiboot.mpi.protocol import Node, Request, Words

NAME = "Open MPI 4"
DAEMON = "orted"
SITE_FILES = ("etc/openmpi-mca-params.conf", "/etc/openmpi/openmpi-mca-params.conf")

_VERSION = re.compile(r"\(Open MPI\)\s+(4\.\d+\.\d+\S*)")
_SSH_ARGS = "plm_rsh_args"
_CONCURRENT = 128  # ORTE's own default of plm_rsh_num_concurrent
_LEGAL_NAME = re.compile(r"[A-Za-z0-9.-]+", re.ASCII)

_SIGNAL = re.compile(
    r"mpirun noticed that process rank (\d+) with PID (\d+) on node (\S+) exited on signal (\d+)"
)
_EXIT = re.compile(r"Process name: \[\[\d+,\d+\],(\d+)\]\s+Exit code:\s+(\d+)")
_ABORT = re.compile(r"MPI_ABORT was invoked on rank (\d+) .{0,80}?with errorcode (-?\d+)")
_LOST = re.compile(
    r"ORTE has lost communication with a remote daemon.{0,300}?Remote daemon: .{0,80}?on node (\S+)"
)
_NO_DAEMON = re.compile(r"ORTE was unable to reliably start one or more daemons")
_DAEMON_DIED = re.compile(r"An ORTE daemon has unexpectedly failed after launch")
_NO_COMMAND = re.compile(r"orted: (?:command )?not found|bash: \S*orted: No such file")
_NO_PROGRAM = re.compile(r"mpirun was unable to find the specified executable file")
_NO_ACCESS = re.compile(r"as it could not access or execute an executable")
_NO_EXEC = re.compile(r'tried to fork a new process via the "execve" system call but failed')


def recognise(version_text: str) -> str | None:
    """Tell the version of an Open MPI 4."""
    found = _VERSION.search(version_text)
    return found.group(1) if found else None


def hostfile(nodes: Sequence[Node]) -> str:
    """Render `name slots=n` lines."""
    return "".join(f"{node.name} slots={node.slots}\n" for node in nodes)


def check_names(own_hostname: str, nodes: Sequence[Node]) -> str:
    """Refuse what ORTE's name encoder refuses: anything but letters, digits, dots and hyphens."""
    if not _LEGAL_NAME.fullmatch(own_hostname):
        return (
            f"Open MPI 4 cannot run where the hostname is {own_hostname!r}: it allows only letters,"
            " digits, dots and hyphens in it"
        )
    bad = [node.name for node in nodes if not _LEGAL_NAME.fullmatch(node.name)]
    return f"Open MPI 4 refuses the node name {bad[0]!r}" if bad else ""


def site_params(text: str) -> dict[str, str]:
    """Read `name = value` lines of openmpi-mca-params.conf."""
    params = {}
    for line in text.splitlines():
        name, equals, value = line.split("#", 1)[0].partition("=")
        if equals and name.strip():
            params[name.strip()] = value.strip()
    return params


def command(request: Request) -> list[Words]:
    """Render mpirun's command line; what the user gives is never given twice."""
    words = [Words(words=(request.mpirun,), reason="the MPI found here")]
    own = _UserFlags(request)
    if request.as_root:
        words.append(Words(words=("--allow-run-as-root",), reason="runs as root in a container"))
    words += own.unless(("--hostfile", request.hostfile), "the workers with their slots")
    words += own.unless(("-np", str(request.np)), "ranks to start")
    words += own.unless(("--bind-to", "none"), "Horovod: threads of a rank use all its CPUs")
    words += own.unless(("--map-by", "slot"), "Horovod: fill one worker before the next")
    words.append(
        Words(
            words=("--mca", _SSH_ARGS, own.joined(f"-F {request.ssh_config}")),
            reason="user, port, key and pinned host keys",
        )
    )
    for name, value, reason in _mca_defaults(request):
        if own.leaves(name):
            words.append(Words(words=("--mca", name, value), reason=reason))
    for pair in request.mca:
        name, _, value = pair.partition("=")
        if name != _SSH_ARGS:
            words.append(Words(words=("--mca", name, value), reason="yours"))
    for export in request.exports:
        words.append(Words(words=("-x", export.word), reason=export.reason))
    if request.mpirun_args:
        words.append(Words(words=tuple(request.mpirun_args), reason="yours"))
    words.append(Words(words=("--", *request.command), reason="the job"))
    return words


def failures(stderr: str) -> list[Failure]:
    """Read what mpirun says of ranks and daemons; the text wraps, so blanks are folded first."""
    text = " ".join(stderr.replace("\0", "").split())
    found: list[tuple[int, Failure]] = []
    for match in _ABORT.finditer(text):
        rank, code = int(match[1]), int(match[2])
        failure = Failure(message=f"rank {rank} called MPI_Abort({code})", rank=rank, code=code)
        found.append((match.start(), failure))
    for match in _EXIT.finditer(text):
        rank, code = int(match[1]), int(match[2])
        failure = Failure(message=f"rank {rank} ended with {code}", rank=rank, code=code)
        found.append((match.start(), failure))
    for match in _SIGNAL.finditer(text):
        rank, number = int(match[1]), int(match[4])
        message = f"rank {rank} on {match[3]} was killed by signal {number}"
        failure = Failure(message=message, host=match[3], rank=rank, signal=number)
        found.append((match.start(), failure))
    for match in _LOST.finditer(text):
        host = match[1].rstrip(".")
        failure = Failure(message=f"mpirun lost the daemon on {host}", host=host)
        found.append((match.start(), failure))
    if _NO_COMMAND.search(text):
        found.append((-1, Failure(message="a worker has no orted on its PATH", code=127)))
    return [failure for _, failure in sorted(found, key=lambda item: item[0])]


def start_failed(stderr: str) -> bool:
    """Tell whether daemons could not be started; no rank runs then."""
    text = " ".join(stderr.split())
    return bool(
        _NO_DAEMON.search(text) or _DAEMON_DIED.search(text) or _NO_COMMAND.search(text)
    ) and not failures_of_ranks(text)


def failures_of_ranks(text: str) -> bool:
    """Tell whether the text speaks of a rank that ran."""
    return bool(_SIGNAL.search(text) or _EXIT.search(text) or _ABORT.search(text))


def command_fault(stderr: str, *, exists: bool) -> int | None:
    """Tell 127 or 126 for a program that is not there or cannot be executed.

    Of a path, 4.1.4 says the same in both cases. The status itself (131, 132, 134) is mpirun's own
    and would be taken for a death by signal.
    """
    text = " ".join(stderr.split())
    if _NO_EXEC.search(text):
        return 126
    if _NO_ACCESS.search(text):
        return 126 if exists else 127
    return 127 if _NO_PROGRAM.search(text) else None


class _UserFlags:
    """What the user already said: flags in --mpirun-arg, MCA names there, in --mca and in OMPI_MCA_*."""

    _SAME: Mapping[str, tuple[str, ...]] = {
        "--hostfile": ("hostfile", "machinefile", "default-hostfile", "host", "H"),
        "-np": ("np", "n", "c", "N", "npernode"),
        "--bind-to": ("bind-to", "bind-to-core", "bind-to-socket", "bind-to-none", "cpu-set"),
        "--map-by": ("map-by", "bynode", "byslot", "ppr", "npernode", "N", "rank-by", "pernode"),
    }

    def __init__(self, request: Request) -> None:
        args = list(request.mpirun_args)
        self._pairs = tuple(request.mca)
        self._environ = request.environ
        self._flags = {word.lstrip("-").split("=")[0] for word in args if word.startswith("-")}
        self._params = {pair.partition("=")[0] for pair in request.mca}
        for at, word in enumerate(args[:-1]):
            if word.lstrip("-") in ("mca", "gmca") and word.startswith("-"):
                self._params.add(args[at + 1])
        for variable in request.environ:
            if variable.startswith("OMPI_MCA_"):
                self._params.add(variable.removeprefix("OMPI_MCA_"))

    def unless(self, words: tuple[str, str], reason: str) -> list[Words]:
        """Give the words unless the user gave the flag, or one that means the same."""
        if self._flags.intersection(self._SAME[words[0]]):
            return []
        return [Words(words=words, reason=reason)]

    def joined(self, ours: str) -> str:
        """Put our ssh arguments before those that the user set for ssh; the later ones win."""
        theirs = [
            pair.partition("=")[2] for pair in self._pairs if pair.startswith(f"{_SSH_ARGS}=")
        ]
        theirs = theirs or [self._environ.get(f"OMPI_MCA_{_SSH_ARGS}", "")]
        return " ".join([ours, *filter(None, theirs)])

    def leaves(self, name: str) -> bool:
        """Tell whether an MCA parameter is still ours to set."""
        return name not in self._params


def _mca_defaults(request: Request) -> Iterator[tuple[str, str, str]]:
    yield "plm_rsh_no_tree_spawn", "1", "workers need no key to log in to each other"
    yield "plm", "rsh", "over ssh, also inside a batch system's allocation"
    if request.nodes > _CONCURRENT:
        yield "plm_rsh_num_concurrent", str(request.nodes), "all logins side by side"
    yield "oob_tcp_keepalive_time", "5", "a cut-off worker is noticed in seconds, not in minutes"
    yield "oob_tcp_keepalive_intvl", "2", "as above"
    yield "oob_tcp_keepalive_probes", "3", "as above"
    if request.dotted_names:
        yield "orte_keep_fqdn_hostnames", "1", "names differ only after the first dot"
    yield "pml", "ob1", "Horovod: plain point-to-point, no probing of fabrics"
    yield (
        "btl",
        _excluded(request.site_params.get("btl", "")),
        (
            "Horovod: no openib; with what this image excludes, or ofi comes back and costs 1.2 s a rank"
        ),
    )
    yield "btl_vader_single_copy_mechanism", "none", "containers lack ptrace: avoids an error line"


def _excluded(site: str) -> str:
    """Unite ^openib with what the site's parameter file excludes."""
    names = ["openib"]
    if site.startswith("^"):
        names += [name for name in site[1:].split(",") if name and name not in names]
    return "^" + ",".join(names)
