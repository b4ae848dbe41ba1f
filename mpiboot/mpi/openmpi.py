"""What Open MPI 4 and 5 share: flags that the user gave, MCA parameters, the order of the words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mpiboot.model.outcome import Failure
from mpiboot.model.record import dataclass
from mpiboot.mpi.protocol import BUSY, Node, Request, Words

FAMILY = "openmpi"
SITE_FILES = ("etc/openmpi-mca-params.conf", "/etc/openmpi/openmpi-mca-params.conf")
CONCURRENT = 128  # plm_rsh_num_concurrent where nobody sets it
SSH_ARGS = ("plm_rsh_args", "plm_ssh_args")  # one parameter under its old and its new name
AGENT = ("plm_rsh_agent", "plm_ssh_agent")  # as above
_POLICIES = ("hwloc_base_binding_policy", "hwloc_default_binding_policy")  # of binding; as above
MAPPINGS = ("slot", "node", "core", "socket", "package", "numa", "hwthread", "ppr:")


@dataclass(frozen=True, kw_only=True)
class Param:
    """A parameter that mpiboot sets unless the user does.

    Attributes:
        name: of the parameter.
        value: its value.
        reason: why.
        flag: `--mca`, or what this version wants for a parameter of its runtime.
        same: other names for it: a user's setting under one of them counts, too.
    """

    name: str
    value: str
    reason: str
    flag: str = "--mca"
    same: tuple[str, ...] = ()


def hostfile(nodes: Sequence[Node], _map_by: str) -> str:
    """Render `name slots=n` lines."""
    return "".join(f"{node.name} slots={node.slots}\n" for node in nodes)


def site_params(text: str) -> dict[str, str]:
    """Read `name = value` lines of openmpi-mca-params.conf."""
    params = {}
    for line in text.splitlines():
        name, equals, value = line.split("#", 1)[0].partition("=")
        if equals and name.strip():
            params[name.strip()] = value.strip()
    return params


def unsupported(request: Request) -> list[str]:
    """Both versions know every binding and mapping there is; what is no mapping at all is refused."""
    if request.map_by and not request.map_by.startswith(MAPPINGS):
        return [f"--map-by {request.map_by}: expected slot, node or ppr:N:node"]
    return []


def words(
    request: Request,
    params: Sequence[Param],
    output: Sequence[Words],
    last_index: int | None = None,
) -> list[Words]:
    """Render mpirun's command line; what the user gives is never given twice.

    Args:
        request: what is to be run.
        params: this version's own parameters, before those that both versions share.
        output: this version's words for tags and times.
        last_index: the highest kernel's number of an interface that its runtime finds; None: all.
    """
    own = UserFlags(request)
    built = [Words(words=(request.mpirun,), reason="the MPI found here")]
    if request.as_root:
        built.append(Words(words=("--allow-run-as-root",), reason="runs as root in a container"))
    built += own.unless(("--hostfile", request.hostfile), "the workers with their slots")
    built += own.unless(("-np", str(request.np)), "ranks to start")
    built += _placement(request, own)
    built += output
    if request.wdir:
        built += own.unless(("--wdir", request.wdir), "yours")
    built.append(_way(request, own))
    for param in (*params, *_shared(request, last_index)):
        if own.leaves(param):
            built.append(Words(words=(param.flag, param.name, param.value), reason=param.reason))
    for pair in request.mca:
        name, _, value = pair.partition("=")
        if name not in (SSH_ARGS if not request.rsh_agent else (*SSH_ARGS, *AGENT)):
            built.append(Words(words=("--mca", name, value), reason="yours"))
    for export in request.exports:
        built.append(Words(words=("-x", export.word), reason=export.reason))
    if request.mpirun_args:
        built.append(Words(words=tuple(request.mpirun_args), reason="yours"))
    built.append(Words(words=("--", *request.command), reason="the job"))
    return built


def _way(request: Request, own: UserFlags) -> Words:
    """Say how daemons are started on workers; Open MPI 5 reads these names on its command line only."""
    if request.rsh_agent:
        reason = "reaches workers in place of ssh"
        return Words(words=("--mca", AGENT[0], request.rsh_agent), reason=reason)
    ssh_args = own.joined(f"-F {request.ssh_config}")
    reason = "user, port, key and pinned host keys"
    return Words(words=("--mca", SSH_ARGS[0], ssh_args), reason=reason)


def _placement(request: Request, own: UserFlags) -> Iterator[Words]:
    if request.bind_to and (request.why_bound == "yours" or not own.said(_POLICIES)):
        yield from own.unless(("--bind-to", request.bind_to), request.why_bound)
    map_by = request.map_by or ("slot" if request.oversubscribe else "")
    if request.oversubscribe:
        yield from own.unless(("--map-by", f"{map_by}:OVERSUBSCRIBE"), "more ranks than slots")
    elif map_by:
        reason = "Horovod: fill one worker before the next" if map_by == "slot" else "yours"
        yield from own.unless(("--map-by", map_by), reason)


def _shared(request: Request, last_index: int | None) -> Iterator[Param]:
    one_by_one = "workers need no key to log in to each other"
    yield Param(
        name="plm_rsh_no_tree_spawn", value="1", reason=one_by_one, same=("plm_ssh_no_tree_spawn",)
    )
    if request.nodes > CONCURRENT:
        yield Param(
            name="plm_rsh_num_concurrent", value=str(request.nodes),
            reason="all logins side by side", same=("plm_ssh_num_concurrent",),
        )  # fmt: skip
    soon = "a cut-off worker is noticed in seconds, not in minutes"
    yield Param(name="oob_tcp_keepalive_time", value="5", reason=soon)
    yield Param(name="oob_tcp_keepalive_intvl", value="2", reason="as above")
    yield Param(name="oob_tcp_keepalive_probes", value="3", reason="as above")
    if request.networks:
        shared = ",".join(request.networks)
        reason = "the network on which the hosts reach each other"
        yield Param(
            name="btl_tcp_if_include", value=shared, reason=reason, same=("btl_tcp_if_exclude",)
        )
        if last_index is None or request.last_index <= last_index:
            yield Param(
                name="oob_tcp_if_include", value=shared, reason=reason, same=("oob_tcp_if_exclude",)
            )
        else:
            reason = f"an interface whose index is above {last_index} is none that can be included"
            yield Param(
                name="oob_tcp_if_exclude", value="lo", reason=reason, same=("oob_tcp_if_include",)
            )
    if request.busy:
        yield Param(name="mpi_yield_when_idle", value="1", reason=BUSY)
    if request.horovod:
        reason = "Horovod: plain point-to-point, no probing of fabrics"
        yield Param(name="pml", value="ob1", reason=reason)
        reason = (
            "Horovod: no openib; with what this image excludes, or ofi comes back and costs 1.2 s"
            " a rank"
        )
        yield Param(name="btl", value=_excluded(request.site_params.get("btl", "")), reason=reason)


def _excluded(site: str) -> str:
    """Unite ^openib with what the site's parameter file excludes."""
    names = ["openib"]
    if site.startswith("^"):
        names += [name for name in site[1:].split(",") if name and name not in names]
    return "^" + ",".join(names)


class UserFlags:
    """What the user already said: flags in --mpirun-arg, MCA names there, in --mca and in variables."""

    _SAME: Mapping[str, tuple[str, ...]] = {
        "--hostfile": ("hostfile", "machinefile", "default-hostfile", "host", "H"),
        "-np": ("np", "n", "c", "N", "npernode"),
        "--bind-to": ("bind-to", "bind-to-core", "bind-to-socket", "bind-to-none", "cpu-set"),
        "--map-by": ("map-by", "bynode", "byslot", "ppr", "npernode", "N", "rank-by", "pernode"),
        "--wdir": ("wdir", "wd"),
        "--stdin": ("stdin",),
        "--output": ("output",),
        "--tag-output": ("tag-output", "output"),
        "--timestamp-output": ("timestamp-output", "output"),
    }
    _MCA = ("mca", "gmca", "omca", "prtemca", "pmixmca", "gpmixmca")
    _PREFIXES = ("OMPI_MCA_", "PRTE_MCA_")

    def __init__(self, request: Request) -> None:
        args = list(request.mpirun_args)
        self._pairs = tuple(request.mca)
        self._environ = request.environ
        self._flags = {word.lstrip("-").split("=")[0] for word in args if word.startswith("-")}
        self._params = {pair.partition("=")[0] for pair in request.mca}
        for at, word in enumerate(args[:-1]):
            if word.lstrip("-") in self._MCA and word.startswith("-"):
                self._params.add(args[at + 1])
        for variable in request.environ:
            for prefix in self._PREFIXES:
                if variable.startswith(prefix):
                    self._params.add(variable.removeprefix(prefix))

    def unless(self, words: tuple[str, ...], reason: str) -> list[Words]:
        """Give the words unless the user gave the flag, or one that means the same."""
        if self._flags.intersection(self._SAME[words[0]]):
            return []
        return [Words(words=words, reason=reason)]

    def joined(self, ours: str) -> str:
        """Put our ssh arguments before those that the user set for ssh, by flag or else by variable."""
        theirs = [
            value
            for name, _, value in (pair.partition("=") for pair in self._pairs)
            if name in SSH_ARGS
        ]
        set_here = (f"{prefix}{name}" for prefix in self._PREFIXES for name in SSH_ARGS)
        theirs = theirs or [self._environ[name] for name in set_here if self._environ.get(name)]
        return " ".join([ours, *dict.fromkeys(theirs)])

    def leaves(self, param: Param) -> bool:
        """Tell whether a parameter is still ours to set."""
        return not self.said((param.name, *param.same))

    def said(self, names: Iterable[str]) -> bool:
        """Tell whether the user set a parameter under one of its names."""
        return bool(self._params.intersection(names))


@dataclass(frozen=True, kw_only=True)
class Texts:
    """How a version's mpirun tells what happened; blanks are folded and NULs gone beforehand.

    Attributes:
        signal: rank, pid, host and number of a death by signal.
        code: rank and exit code.
        abort: rank and code of an MPI_Abort.
        lost: host of a daemon that was lost.
        no_daemon: daemons could not be started.
        no_command: a worker has no daemon on its PATH.
        daemon: name of the daemon.
    """

    signal: re.Pattern[str]
    code: re.Pattern[str]
    abort: re.Pattern[str]
    lost: re.Pattern[str]
    no_daemon: re.Pattern[str]
    no_command: re.Pattern[str]
    daemon: str


def folded(stderr: str) -> str:
    """Undo the wrapping of help texts."""
    return " ".join(stderr.replace("\0", "").split())


def failures(stderr: str, texts: Texts) -> list[Failure]:
    """Read what mpirun says of ranks and daemons, in the order in which it says it."""
    text = folded(stderr)
    found: list[tuple[int, Failure]] = []
    for match in texts.abort.finditer(text):
        rank, code = int(match[1]), int(match[2])
        failure = Failure(message=f"rank {rank} called MPI_Abort({code})", rank=rank, code=code)
        found.append((match.start(), failure))
    for match in texts.code.finditer(text):
        rank, code = int(match[1]), int(match[2])
        failure = Failure(message=f"rank {rank} ended with {code}", rank=rank, code=code)
        found.append((match.start(), failure))
    for match in texts.signal.finditer(text):
        rank, number = int(match[1]), int(match[4])
        message = f"rank {rank} on {match[3]} was killed by signal {number}"
        failure = Failure(message=message, host=match[3], rank=rank, signal=number)
        found.append((match.start(), failure))
    for match in texts.lost.finditer(text):
        host = match[1].rstrip(".")
        failure = Failure(message=f"mpirun lost the daemon on {host}", host=host)
        found.append((match.start(), failure))
    if texts.no_command.search(text):
        message = f"a worker has no {texts.daemon} on its PATH"
        found.append((-1, Failure(message=message, code=127)))
    return [failure for _, failure in sorted(found, key=lambda item: item[0])]


def start_failed(stderr: str, texts: Texts) -> bool:
    """Tell whether daemons could not be started; no rank runs then."""
    text = folded(stderr)
    ran = any(one.search(text) for one in (texts.signal, texts.code, texts.abort))
    return bool(texts.no_daemon.search(text) or texts.no_command.search(text)) and not ran


def exit_code(code: int, _stderr: str) -> int:
    """Pass a rank's code on, and 128 + n for its signal, as both runtimes do."""
    return code
