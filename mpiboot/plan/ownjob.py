"""What the user's own launcher has to know of the job, and the variables through which it hears it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpiboot.model.record import asdict, dataclass, field

_TREE = 16  # Intel MPI: hosts up to which mpiexec logs in to all of them itself
_CONCURRENT = 128  # Open MPI: logins side by side, unless told
_OPENMPI5 = "Open MPI 5"

# Names under which Open MPI 4 knew what Open MPI 5's runtime reads as PRTE_MCA_*, and there only.
RENAMED = {
    "orte_default_hostfile": "prte_default_hostfile",
    "orte_keep_fqdn_hostnames": "prte_keep_fqdn_hostnames",
    "orte_set_default_slots": "prte_set_default_slots",
    "orte_launch_agent": "prte_launch_agent",
    "plm_rsh_agent": "plm_ssh_agent",
    "plm_rsh_args": "plm_ssh_args",
    "plm_rsh_no_tree_spawn": "plm_ssh_no_tree_spawn",
    "plm_rsh_num_concurrent": "plm_ssh_num_concurrent",
    "oob_tcp_if_include": "oob_tcp_if_include",
    "oob_tcp_if_exclude": "oob_tcp_if_exclude",
    "oob_tcp_keepalive_time": "oob_tcp_keepalive_time",
    "oob_tcp_keepalive_intvl": "oob_tcp_keepalive_intvl",
    "oob_tcp_keepalive_probes": "oob_tcp_keepalive_probes",
    "rmaps_base_mapping_policy": "rmaps_default_mapping_policy",
    "rmaps_base_ranking_policy": "rmaps_default_ranking_policy",
    "hwloc_base_binding_policy": "hwloc_default_binding_policy",
}
# Where each MPI looks for further words for ssh.
_SSH_ARGS = {
    "Open MPI 4": "OMPI_MCA_plm_rsh_args",
    _OPENMPI5: "PRTE_MCA_plm_ssh_args",
    "MPICH": "HYDRA_LAUNCHER_EXTRA_ARGS",
    "Intel MPI": "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """The job in the words of its MPI.

    Attributes:
        dialect: name of the MPI.
        version: its version.
        hostfile: path of the file with the workers and their slots, in this MPI's own format.
        ssh_config: path of the configuration for ssh; empty where ssh is not what reaches workers.
        np: ranks to start, where somebody asks.
        hosts: each worker as mpirun sees it, with its slots.
        names: for each name that a user may write for a worker and mpirun sees another, that one.
        own_address: address of this container as the workers reach it; empty when not known.
        own_interface: name of the interface with that address; empty when not known.
        as_root: whether the launcher runs as uid 0.
        dotted_names: whether workers differ only after the first dot of their names.
        wrapper: words before each rank's program; nothing: ranks are started as they are.
        json_log: whether the agent logs in JSON.
        discovery: path of the discovery script of an elastic job; empty for others.
        rsh_agent: program that reaches workers in place of ssh; empty: ssh.
        given: path of the file from which the hosts were taken; empty: they were not in one.
        ignore_sigpipe: whether its mpirun dies where it should not, unless it ignores this signal.
        busy: whether workers have fewer CPUs than ranks, so that these must not spin.
        unbound: whether ranks would be bound to CPUs that others use, too.
        raw_output: what `--output` needs so that half a line stays with its rank and stream; empty:
            nothing.
        dvm: directory of what its calls of mpirun know of the daemons that stay; empty: none stay.
        prte: path of the program that starts those.
    """

    dialect: str
    version: str
    hostfile: str
    ssh_config: str
    np: int
    hosts: tuple[tuple[str, int], ...]
    names: Mapping[str, str] = field(default_factory=dict)
    own_address: str = ""
    own_interface: str = ""
    as_root: bool = False
    dotted_names: bool = False
    wrapper: tuple[str, ...] = ()
    json_log: bool = False
    discovery: str = ""
    rsh_agent: str = ""
    given: str = ""
    ignore_sigpipe: bool = False
    busy: bool = False
    unbound: bool = False
    raw_output: str = ""
    dvm: str = ""
    prte: str = ""

    @property
    def openmpi(self) -> bool:
        """Tell whether it is an Open MPI, and no kin of MPICH."""
        return self.dialect.startswith("Open MPI")

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)

    @classmethod
    def of_plain(cls, document: Mapping[str, Any]) -> Job:
        """Undo `plain`, after JSON has made lists of tuples."""
        hosts = tuple((name, slots) for name, slots in document["hosts"])
        wrapper = tuple(document["wrapper"])
        return cls(**{**document, "hosts": hosts, "wrapper": wrapper})


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Variables to set, and a line for the log where one may surprise."""

    variables: Mapping[str, str]
    notes: tuple[str, ...] = ()


def environment(job: Job, environ: Mapping[str, str]) -> Changes:
    """Tell the launcher about hosts, ssh and root through variables; what the user set stays.

    Applied to its own result it changes nothing, so it may be used by whoever comes last.
    """
    translated = _translated(environ) if job.dialect == _OPENMPI5 else {}
    whole = {**environ, **{new: environ[old] for new, old in translated.items()}}
    ssh_args = _SSH_ARGS[job.dialect]
    words = with_config(job, whole.get(ssh_args, ""))
    variables = {
        **{new: environ[old] for new, old in translated.items()},
        **{name: value for name, value in _defaults(job) if name not in whole},
        **({ssh_args: words} if words else {}),
    }
    variables = {name: value for name, value in variables.items() if environ.get(name) != value}
    why = "Open MPI 5 reads that name in place of the old one"
    notes = tuple(f"{old} → {new}: {why}" for new, old in translated.items())
    return Changes(variables=variables, notes=notes)


def with_config(job: Job, theirs: str) -> str:
    """Put our ssh arguments before the user's; one of theirs then adds to our configuration.

    A configuration file of the user's own takes the place of ours.
    """
    words = theirs.split()
    if not job.ssh_config or any(word.startswith("-F") for word in words):
        return theirs
    return " ".join(["-F", job.ssh_config, *words])


def _translated(environ: Mapping[str, str]) -> dict[str, str]:
    """Map each variable that Open MPI 5 reads to the one that the user set in its place."""
    pairs = ((f"PRTE_MCA_{new}", f"OMPI_MCA_{old}") for old, new in RENAMED.items())
    return {new: old for new, old in pairs if old in environ and new not in environ}


def _defaults(job: Job) -> Iterator[tuple[str, str]]:
    """Yield what is set unless the user did; the reasons are those of the dialects."""
    if job.dialect == "MPICH":
        yield from _mpich(job)
    elif job.dialect == "Intel MPI":
        yield from _intel(job)
    else:
        yield from _openmpi(job)


def _mpich(job: Job) -> Iterator[tuple[str, str]]:
    yield "HYDRA_HOST_FILE", job.hostfile
    yield "HYDRA_LAUNCHER", "rsh" if job.rsh_agent else "ssh"
    if job.rsh_agent:
        yield "HYDRA_LAUNCHER_EXEC", job.rsh_agent
    if job.busy:
        yield "MPIR_CVAR_ENABLE_HEAVY_YIELD", "1"


def _intel(job: Job) -> Iterator[tuple[str, str]]:
    yield "I_MPI_HYDRA_HOST_FILE", job.hostfile
    yield "I_MPI_HYDRA_BOOTSTRAP", "rsh" if job.rsh_agent else "ssh"
    if job.rsh_agent:
        yield "I_MPI_HYDRA_BOOTSTRAP_EXEC", job.rsh_agent
    slots = {count for _, count in job.hosts}
    if len(slots) == 1:
        # It reads no slots in a file that a variable names, and takes all cores of a host.
        yield "I_MPI_PERHOST", str(slots.pop())
    if job.own_interface:
        # Else workers are told to call back to this container's name, which few of them resolve.
        yield "I_MPI_HYDRA_IFACE", job.own_interface
    if len(job.hosts) > _TREE:
        yield "I_MPI_HYDRA_BRANCH_COUNT", str(len(job.hosts))
    if job.unbound:
        yield "I_MPI_PIN", "0"
    if job.busy:
        yield "I_MPI_WAIT_MODE", "1"


def _openmpi(job: Job) -> Iterator[tuple[str, str]]:
    if job.as_root:
        # Its own names for this do not suffice on Open MPI 5.
        yield "OMPI_ALLOW_RUN_AS_ROOT", "1"
        yield "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"
    params = {
        "orte_default_hostfile": job.hostfile,
        "plm_rsh_no_tree_spawn": "1",
        "oob_tcp_keepalive_time": "5",
        "oob_tcp_keepalive_intvl": "2",
        "oob_tcp_keepalive_probes": "3",
    }
    if job.rsh_agent:
        params["plm_rsh_agent"] = job.rsh_agent
    if len(job.hosts) > _CONCURRENT:
        params["plm_rsh_num_concurrent"] = str(len(job.hosts))
    if job.unbound:
        params["hwloc_base_binding_policy"] = "none"
    if job.dotted_names:
        params["orte_keep_fqdn_hostnames"] = "1"
    if job.busy:
        yield "OMPI_MCA_mpi_yield_when_idle", "1"
    new = job.dialect == _OPENMPI5
    for name, value in params.items():
        yield f"PRTE_MCA_{RENAMED[name]}" if new else f"OMPI_MCA_{name}", value
    yield ("PRTE_MCA_plm", "ssh") if new else ("OMPI_MCA_plm", "rsh")
