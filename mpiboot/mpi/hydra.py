"""What MPICH and Intel MPI share: hydra's hostfile, its environment lists, its words for failures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from mpiboot.model.outcome import Failure
from mpiboot.mpi.protocol import Export, Node, Request, Variable, Words

FAMILY = "mpich"
PROGRAM = "mpiexec.hydra"

_ABORT = re.compile(
    r"Abort\((-?\d{1,12})\) on node \d+ \(rank (\d{1,9}) in comm[^)]*\): application called MPI_Abort"
)
_KILLED = re.compile(
    r"= (?:RANK (\d{1,9}) )?PID (\d+) RUNNING AT (\S+) (?:= )?"
    r"(?:= )?(?:KILLED BY SIGNAL: (\d{1,2})\b|EXIT CODE: (\d{1,9}))"
)
_EXIT_STRING = re.compile(r"EXIT STRING: [^()]{0,80}\(signal (\d{1,2})\)")
_NO_EXEC = re.compile(r"execvp error on file (\S+) \(([^)]*)\)")
_BSTRAP = re.compile(r"[Uu]nable to run bstrap_proxy on (\S+)")
_SSH = re.compile(
    r"ssh: (?:connect to host|Could not resolve hostname) (\S+?):? |Host key verification failed"
    r"|Permission denied \(publickey|(hydra_pmi_proxy|hydra_bstrap_proxy): (?:command )?not found"
    r"|launcher returned error|error waiting for completion|unable to establish upstream connection"
)


def hostfile(nodes: Sequence[Node], map_by: str) -> str:
    """Render `name:n` lines; hydra fills each host with n ranks, and begins anew after the last."""
    each = "1" if map_by == "node" else per_node(map_by)
    return "".join(f"{node.name}:{each or node.slots}\n" for node in nodes)


def check_names(_own_hostname: str, nodes: Sequence[Node]) -> str:
    """A literal IPv6 address ends hydra with an arithmetic fault."""
    bad = [node.name for node in nodes if ":" in node.name]
    return f"hydra cannot read the node name {bad[0]!r}" if bad else ""


def unsupported(request: Request, name: str) -> list[str]:
    """Name what only Open MPI has."""
    found = [
        f"--mca {pair.replace('=', ' ', 1)} is not on {name}: it has no MCA parameters; set its own"
        " variables with -x NAME=VALUE"
        for pair in request.mca
    ]
    if request.map_by not in ("", "slot") and request.uneven:
        found.append(f"--map-by {request.map_by} is not on {name} where slots differ")
    if request.map_by not in ("", "slot", "node") and not per_node(request.map_by):
        found.append(f"--map-by {request.map_by} is not on {name}: use slot, node or ppr:N:node")
    return found


def per_node(map_by: str) -> str:
    """Return N of ppr:N:node."""
    found = re.fullmatch(r"ppr:(\d+):node", map_by)
    return found.group(1) if found else ""


def raw_output(_version: str) -> str:
    """Pieces of lines come as they are written."""
    return ""


def given(request: Request, *names: str) -> bool:
    """Tell whether the user's own words have one of these flags."""
    flags = {word.lstrip("-").split("=")[0] for word in request.mpirun_args if word[:1] == "-"}
    return not flags.isdisjoint(names)


def environment(
    exports: Sequence[Export], environ: Mapping[str, str], *, by_value: tuple[str, ...] = ()
) -> list[Words]:
    """Hand variables to the ranks, by name where that is possible.

    Args:
        exports: what the ranks get.
        environ: the environment mpiexec will have.
        by_value: beginnings of names that this hydra loses when it gets them by name.
    """
    words: list[Words] = []
    named: list[Export] = []
    for export in exports:
        if export.value is None and not (by_value and export.name.startswith(by_value)):
            named.append(export)
            continue
        value = environ.get(export.name, "") if export.value is None else export.value
        words.append(Words(words=("-genv", export.name, value), reason=export.reason))
    # Without a list hydra hands on all it has, HOSTNAME too; an empty one is no list.
    names = ",".join(export.name for export in named) or "MPIBOOT_NONE"
    reason = "; ".join(f"{export.name}: {export.reason}" for export in named) or "none"
    return [*words, Words(words=("-genvlist", names), reason=reason)]


def words(
    request: Request,
    *,
    call: str,
    hosts: Words,
    back: tuple[str, str],
    own: Sequence[Words],
    exported: Sequence[Words],
) -> tuple[Words, ...]:
    """Render mpiexec's command line; what the user gives is never given twice.

    Args:
        request: what is to be run.
        call: why this program is called.
        hosts: the flag for a hostfile with slots, and the file.
        back: what tells proxies where to call back.
        own: this MPI's words for binding and output.
        exported: its words for the ranks' variables.
    """
    built = [Words(words=(request.mpirun,), reason=call)]
    if not given(request, "f", "hostfile", "machinefile", "machine", "hosts"):
        built.append(hosts)
    if not given(request, "np", "n"):
        built.append(Words(words=("-np", str(request.np)), reason="ranks to start"))
    if request.own_address and not given(request, "localhost", "iface"):
        reason = "proxies call back to this address, not to a name that they may not resolve"
        built.append(Words(words=back, reason=reason))
    built += own
    if request.wdir:
        built.append(Words(words=("-wdir", request.wdir), reason="yours"))
    built += exported
    if request.mpirun_args:
        built.append(Words(words=tuple(request.mpirun_args), reason="yours"))
    return (*built, Words(words=tuple(request.command), reason="the job"))


def site_params(_text: str) -> dict[str, str]:
    """There is no file of parameters."""
    return {}


def survivor_code(_stderr: str) -> int | None:
    """There is no code of its own for a rank that lost its partner."""
    return None


def way(request: Request, *, launcher: str, program: str, extra: str) -> Iterator[Variable]:
    """Say how proxies are started on workers.

    Args:
        request: what is to be run.
        launcher: variable that names the way.
        program: variable that names the program for it.
        extra: variable with further words for that program.
    """
    if request.rsh_agent:
        reason = "reaches workers in place of ssh"
        yield Variable(name=launcher, value="rsh", reason="without words that only ssh knows")
        yield Variable(name=program, value=request.rsh_agent, reason=reason)
        return
    over = Variable(name=launcher, value="ssh", reason="over ssh, whatever else is here")
    yield from unless_set(request.environ, [over])
    theirs = request.environ.get(extra, "")
    value = f"-F {request.ssh_config} {theirs}".strip()
    yield Variable(name=extra, value=value, reason="user, port, key and pinned host keys")


def unless_set(environ: Mapping[str, str], wanted: Sequence[Variable]) -> list[Variable]:
    """Leave out what the user has set already."""
    return [one for one in wanted if one.name not in environ]


def folded(stderr: str) -> str:
    """Undo line breaks."""
    return " ".join(stderr.replace("\0", "").split())


def failures(stderr: str) -> list[Failure]:
    """Read what hydra says of ranks and proxies; MPICH knows hosts and pids, and no ranks."""
    text = folded(stderr)
    found: list[tuple[int, Failure]] = []
    for match in _ABORT.finditer(text):
        code, rank = int(match[1]), int(match[2])
        failure = Failure(message=f"rank {rank} called MPI_Abort({code})", rank=rank, code=code)
        found.append((match.start(), failure))
    found += [(match.start(), _killed(match, text)) for match in _KILLED.finditer(text)]
    for match in _NO_EXEC.finditer(text):
        message = f"{match[1]} cannot be executed: {match[2]}"
        found.append((match.start(), Failure(message=message)))
    for match in _BSTRAP.finditer(text):
        host = match[1]
        failure = Failure(message=f"hydra's daemon could not be started on {host}", host=host)
        found.append((match.start(), failure))
    return [failure for _, failure in sorted(found, key=lambda item: item[0])]


def _killed(match: re.Match[str], text: str) -> Failure:
    rank = int(match[1]) if match[1] else None
    who = f"rank {rank}" if rank is not None else f"the rank with PID {match[2]}"
    signal = int(match[4]) if match[4] else _signal_of(text)
    if signal is not None:
        message = f"{who} on {match[3]} was killed by signal {signal}"
        return Failure(message=message, host=match[3], rank=rank, signal=signal)
    code = int(match[5])
    message = f"{who} on {match[3]} ended with {code}"
    return Failure(message=message, host=match[3], rank=rank, code=code)


def _signal_of(text: str) -> int | None:
    found = _EXIT_STRING.search(text)
    return int(found.group(1)) if found else None


def start_failed(stderr: str) -> bool:
    """Tell whether a proxy could not be started."""
    text = folded(stderr)
    return bool(_BSTRAP.search(text) or _SSH.search(text)) and not _KILLED.search(text)


def command_fault(stderr: str, *, exists: bool) -> int | None:  # noqa: ARG001 - its words decide
    """Tell 127 or 126 for a program that is not there or cannot be executed."""
    found = _NO_EXEC.search(folded(stderr))
    if found is None:
        return None
    return 127 if "No such file" in found.group(2) else 126


def exit_code(code: int, stderr: str) -> int:
    """Read the signal that MPICH gives raw, or hides behind 255."""
    text = folded(stderr)
    if _ABORT.search(text):
        return code
    found = _KILLED.search(text)
    if found is None:
        return code
    signal = int(found.group(4)) if found.group(4) else _signal_of(text)
    return 128 + signal if signal is not None else code
