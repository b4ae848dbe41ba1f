"""Settings of the job itself: how many ranks, which MPI, what it is told."""

from __future__ import annotations

from mpiboot.model.record import dataclass
from mpiboot.model.spec import BOTH, LAUNCHING, setting


@dataclass(frozen=True, kw_only=True)
class JobSettings:
    """What the user wants of the job, in one language for every MPI."""

    rsh_agent: str = setting(
        "path",
        "",
        "program that mpirun calls in place of ssh to reach a worker, as kubexec.sh of older MPI"
        " Operators; workers then serve no sshd, and no leases are held",
        roles=BOTH,
        metavar="FILE",
    )
    np: int = setting(
        "int",
        0,
        "ranks to start; else all slots",
        roles=LAUNCHING,
        short=("-np", "-n"),
        least=0,
        most=10_000_000,
        metavar="N",
    )
    oversubscribe: bool = setting(
        "flag",
        False,
        "allow more ranks than slots",
        roles=LAUNCHING,
    )
    profile: str = setting(
        "text",
        "horovod",
        "what mpirun is told beyond what the job needs: horovod, as horovodrun would;"
        " plain, as a bare mpirun",
        roles=LAUNCHING,
        choices=("horovod", "plain"),
        metavar="NAME",
    )
    mpirun: str = setting(
        "path",
        "",
        "mpirun to call; else bin/mpirun of --mpi-home, else the one on PATH",
        roles=LAUNCHING,
        metavar="FILE",
    )
    mpi_home: str = setting(
        "path",
        "",
        "prefix of the MPI installation",
        roles=LAUNCHING,
        metavar="DIR",
    )
    mca: tuple[str, ...] = setting(
        "pairs",
        (),
        "MCA parameter for mpirun; replaces a default of the same name",
        roles=LAUNCHING,
        metavar="KEY VALUE",
    )
    mpirun_arg: tuple[str, ...] = setting(
        "words",
        (),
        "argument for mpirun, one word each; write --mpirun-arg=--word",
        roles=LAUNCHING,
        metavar="WORD",
    )
    bind_to: str = setting(
        "text",
        "",
        "bind each rank to: none, core, socket, numa or hwthread; else none with --profile"
        " horovod or where ranks share CPUs, the MPI's own default elsewhere",
        roles=LAUNCHING,
        metavar="WHAT",
    )
    map_by: str = setting(
        "text",
        "",
        "order in which ranks take slots: slot (fill a worker before the next), node (one on each"
        " in turn) or ppr:N:node (N on each)",
        roles=LAUNCHING,
        metavar="HOW",
    )
    interface: str = setting(
        "text",
        "",
        "network for MPI, NCCL and Gloo: interface names or networks (10.0.0.0/8), separated by"
        " commas; else found where hosts have several",
        roles=LAUNCHING,
        metavar="LIST",
    )
    export: tuple[str, ...] = setting(
        "words",
        (),
        "variable to hand to the ranks: NAME or NAME=VALUE",
        roles=LAUNCHING,
        short=("-x",),
        metavar="NAME[=VALUE]",
    )
    rank_env_allow: tuple[str, ...] = setting(
        "words",
        (),
        "variables of the launcher that reach the ranks beyond those of docs/environment.md (globs)",
        roles=LAUNCHING,
        metavar="NAME",
    )
    rank_env_deny: tuple[str, ...] = setting(
        "words",
        (),
        "variables that never reach the ranks (globs)",
        roles=LAUNCHING,
        metavar="NAME",
    )
    wdir: str = setting(
        "path",
        "",
        "working directory of the ranks; else the launcher's, where a worker has it",
        roles=LAUNCHING,
        metavar="DIR",
    )
    abort_on_exception: bool = setting(
        "flag",
        True,
        "an exception that ends one rank of a Python program with mpi4py ends the job; else the"
        " others may wait for ever",
        roles=LAUNCHING,
    )
    own_launcher: bool = setting(
        "flag",
        True,
        "a command that starts mpirun, mpiexec or horovodrun itself is not started through another"
        " mpirun",
        roles=LAUNCHING,
    )
    dvm: bool = setting(
        "flag",
        False,
        "Open MPI 5 with prun: a command that calls mpirun several times starts its daemons once, and"
        " the calls share them",
        roles=LAUNCHING,
    )
    rank_wrapper: bool = setting(
        "flag",
        True,
        "start each rank through a small program that reports its end and keeps its lines whole",
        roles=LAUNCHING,
    )
    port_check: str = setting(
        "text",
        "fail",
        "when workers do not reach each other at random ports, as ranks must: fail, warn, or off;"
        " fail only warns where all have RDMA devices, MPI is given a range of ports, or the job is"
        " elastic",
        roles=LAUNCHING,
        choices=("fail", "warn", "off"),
        metavar="WHAT",
    )
    start_timeout_s: float = setting(
        "seconds",
        120.0,
        "how long mpirun may take until every rank has started; 0: for ever",
        roles=LAUNCHING,
        least=0,
        most=31_536_000,
        metavar="SECONDS",
    )
