"""Where an MPI launcher's own words end: its options with their values, context by context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot.model.record import dataclass

_OPENMPI = {
    0: (
        "allow-run-as-root bind-to-core bind-to-none bind-to-socket bycore bynode byslot continuous d debug debug-daemons"
        " debug-daemons-file debug-devel disable-recovery display-allocation display-comm"
        " display-comm-finalize display-devel-allocation display-devel-map display-diffable-map"
        " display-map do-not-launch do-not-resolve enable-instant-on-support enable-recovery"
        " forward-mpirun-port fwd-mpirun-port get-stack-traces hetero-nodes index-argv-by-rank"
        " leave-session-attached merge-stderr-to-stdout nolocal nooversubscribe noprefix novm"
        " output-proctable oversubscribe parsable parseable pernode preload-binary q quiet"
        " report-bindings report-child-jobs-separately report-state-on-timeout s"
        " set-cwd-to-session-dir show-progress stop-in-init stop-on-exec tag-output"
        " timestamp-output tv use-hwthread-cpus use-regexp v verbose xml"
    ),
    1: (
        "H N am app bind-to c cartofile cf cpu-list cpu-set cpus-per-proc cpus-per-rank debugger"
        " default-hostfile hnp host hostfile launch-agent machinefile map-by max-restarts"
        " max-vm-size n np npernode npersocket ompi-server output-filename path personality ppr"
        " prefix preload-files rank-by rankfile report-events report-pid report-uri rf stdin"
        " timeout tmpdir tune wd wdir x xml-file xterm"
    ),
    2: "mca gmca omca gomca",
}
_OPENMPI5 = {
    1: (
        "display display-topo forward-signals initial-errhandler output output-directory pset"
        " runtime-options spawn-timeout stream-buffering with-ft"
    ),
    2: "prtemca pmixmca gpmixmca",
}
_HYDRA = {
    0: (
        "disable-auto-cleanup disable-hostname-propagation disable-x enable-x envall envnone"
        " genvall genvnone hybrid-hosts l pmi-port prepend-rank print-all-exitcodes profile"
        " skip-launch-node v verbose"
    ),
    1: (
        "N bind-to bootstrap bootstrap-exec configfile demux envlist errfile-pattern f gpus-per-proc"
        " genvlist host hostfile hosts iface launcher launcher-exec localhost machinefile map-by"
        " membind memory-alloc-kinds n nameserver np order-nodes outfile-pattern ppn"
        " prepend-pattern rankmap rmk topolib usize wdir"
    ),
    2: "env genv",
}
_INTEL = {
    0: (
        "noconf nolocal ordered-output prepend-timestamp print-rank-map prot rr silent-abort ilp64"
        " check-mpi trace"
    ),
    1: (
        "bootstrap-exec-args branch-count cpu-bind envexcl file genvexcl grr gtool gtoolfile gwdir"
        " hosts-group machine path perhost s"
    ),
}
# Words of Open MPI that users of hydra bring along, where hydra has no such word itself.
_FOREIGN = {
    0: "allow-run-as-root oversubscribe tag-output timestamp-output report-bindings",
    1: "H npernode wd x rank-by bootstrap-exec-args",
    2: "mca gmca prtemca",
}


def _table(*groups: Mapping[int, str]) -> dict[str, int]:
    return {
        name: values
        for group in groups
        for values, names in group.items()
        for name in names.split()
    }


_TABLES = {
    "Open MPI 4": _table(_OPENMPI),
    "Open MPI 5": _table(_OPENMPI, {0: ""}, _OPENMPI5),
    "MPICH": _table(_FOREIGN, _HYDRA),
    "Intel MPI": _table(_FOREIGN, _HYDRA, _INTEL),
}
_GLUED_PAIR = ("env", "genv")  # `-genv A=1` is one value, `-genv A 1` are two


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option as the user wrote it, or as it shall be.

    Attributes:
        words: the words.
        name: without dashes.
        values: its values.
        glued: whether the value stands behind an equals sign.
    """

    words: tuple[str, ...]
    name: str
    values: tuple[str, ...] = ()
    glued: bool = False

    @property
    def dashes(self) -> str:
        """The dashes before the name."""
        return "--" if self.words[0].startswith("--") else "-"

    @property
    def value(self) -> str:
        """The only value, or the last one."""
        return self.values[-1] if self.values else ""


@dataclass(frozen=True, kw_only=True)
class Context:
    """One program of a launch, with what is said of it.

    Attributes:
        options: what is understood.
        rest: the words from the program, or from the first word that is not understood.
        program: whether the rest is the program for sure.
    """

    options: tuple[Option, ...]
    rest: tuple[str, ...]
    program: bool


def contexts(dialect: str, args: Sequence[str]) -> list[Context]:
    """Divide a launcher's arguments at each `:`, and each part where its program begins."""
    parts: list[list[str]] = [[]]
    for word in args:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    return [_context(_TABLES[dialect], part) for part in parts]


def _context(table: Mapping[str, int], words: Sequence[str]) -> Context:
    options: list[Option] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        option = _option(table, words, at)
        if option is None:
            return Context(options=tuple(options), rest=tuple(words[at:]), program=False)
        options.append(option)
        at += len(option.words)
    return Context(options=tuple(options), rest=tuple(words[at:]), program=True)


def _option(table: Mapping[str, int], words: Sequence[str], at: int) -> Option | None:
    """Read one option; None for one that is not known, or that lacks its value."""
    name, equals, value = words[at].lstrip("-").partition("=")
    count = table.get(name)
    if count is None or not name:
        return None
    if equals and name not in _GLUED_PAIR:
        return Option(words=(words[at],), name=name, values=(value,), glued=True) if count else None
    if name in _GLUED_PAIR and at + 1 < len(words) and "=" in words[at + 1]:
        count = 1
    values = tuple(words[at + 1 : at + 1 + count])
    if len(values) < count:
        return None
    return Option(words=(words[at], *values), name=name, values=values)
