"""How Open MPI 4 is called, and what its messages mean."""

from __future__ import annotations

import pytest

from mpiboot import mpi
from mpiboot.errors import ConfigError
from mpiboot.model.record import replace
from mpiboot.mpi import openmpi4
from mpiboot.mpi.protocol import Export, Node, Request

REQUEST = Request(
    mpirun="mpirun",
    hostfile="/r/hostfile",
    ssh_config="/r/ssh_config",
    np=4,
    nodes=2,
    as_root=True,
    dotted_names=False,
    bind_to="none",
    map_by="slot",
    no_cma=True,
    exports=(
        Export(name="PATH", value=None, reason="r"),
        Export(name="A", value="1 2", reason="r"),
    ),
    environ={},
    site_params={"btl": "^uct,openib,ofi", "mtl": "^ofi"},
    command=("python3", "train.py", "--lr", "0.1"),
)


def argv(request: Request) -> list[str]:
    return [word for group in openmpi4.invocation(request).words for word in group.words]


def test_the_whole_command_line() -> None:
    """Horovod's line, ssh through our own configuration, and what this site excludes."""
    assert " ".join(argv(REQUEST)) == (
        "mpirun --allow-run-as-root --hostfile /r/hostfile -np 4 --bind-to none --map-by slot"
        " --mca plm_rsh_args -F /r/ssh_config --mca plm rsh"
        " --mca btl_vader_single_copy_mechanism none --mca plm_rsh_no_tree_spawn 1"
        " --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2"
        " --mca oob_tcp_keepalive_probes 3 --mca pml ob1 --mca btl ^openib,uct,ofi -x PATH -x A=1 2"
        " -- python3 train.py --lr 0.1"
    )


def test_not_root_needs_no_permission() -> None:
    """The flag is for root alone."""
    assert "--allow-run-as-root" not in argv(replace(REQUEST, as_root=False))


def test_dots_that_matter_and_many_hosts() -> None:
    """Full names are kept where they differ after the dot; many hosts log in side by side."""
    words = argv(replace(REQUEST, dotted_names=True, nodes=200))
    assert words[words.index("orte_keep_fqdn_hostnames") + 1] == "1"
    assert words[words.index("plm_rsh_num_concurrent") + 1] == "200"


@pytest.mark.parametrize(
    "given",
    [
        {"mca": ("btl=tcp,self",)},
        {"mpirun_args": ("--mca", "btl", "tcp,self")},
        {"mpirun_args": ("-mca", "btl", "tcp,self")},
        {"environ": {"OMPI_MCA_btl": "tcp,self"}},
    ],
)
def test_a_parameter_of_the_users_is_never_given_twice(given: dict[str, object]) -> None:
    """Wherever the user sets a parameter, ours is gone."""
    words = argv(replace(REQUEST, **given))  # type: ignore[arg-type]
    assert words.count("btl") == (0 if "environ" in given else 1)
    assert "^openib,uct,ofi" not in words


@pytest.mark.parametrize(
    ("args", "gone"),
    [
        (("--bind-to", "core"), "--bind-to none"),
        (("-bind-to", "core"), "--bind-to none"),
        (("--map-by", "node"), "--map-by slot"),
        (("--map-by=node",), "--map-by slot"),
        (("-np", "2"), "-np 4"),
        (("-H", "a,b"), "--hostfile"),
    ],
)
def test_a_flag_of_the_users_is_never_given_twice(args: tuple[str, ...], gone: str) -> None:
    """Whatever the number of dashes, the user's flag is the only one of its kind."""
    text = " ".join(argv(replace(REQUEST, mpirun_args=args)))
    assert gone in " ".join(argv(REQUEST))
    assert gone not in text
    assert " ".join(args) in text


@pytest.mark.parametrize(
    "given",
    [{"mca": ("plm_rsh_args=-v",)}, {"environ": {"OMPI_MCA_plm_rsh_args": "-v"}}],
)
def test_the_users_ssh_arguments_are_added_to_ours(given: dict[str, object]) -> None:
    """Our configuration is needed, theirs wins where both speak, and there is one parameter."""
    words = argv(replace(REQUEST, **given))  # type: ignore[arg-type]
    assert words.count("plm_rsh_args") == 1
    assert words[words.index("plm_rsh_args") + 1] == "-F /r/ssh_config -v"


def test_versions() -> None:
    """Open MPI 4 is recognised by its text; other MPIs are refused with what is known."""
    assert openmpi4.recognise("mpirun (Open MPI) 4.1.4\n\nReport bugs to") == "4.1.4"
    assert openmpi4.recognise("mpirun (Open MPI) 5.0.7") is None
    with pytest.raises(ConfigError, match=r"'LAM 7\.1\.4/MPI 2"):
        mpi.detect("LAM 7.1.4/MPI 2 C++/ROMIO\n", "/usr/bin/mpirun")


def test_hostfile_and_names() -> None:
    """Slots are always stated; names that ORTE refuses are refused before it does."""
    nodes = [Node(name="a", slots=2), Node(name="10.0.0.1", slots=1)]
    assert openmpi4.hostfile(nodes, "") == "a slots=2\n10.0.0.1 slots=1\n"
    assert openmpi4.check_names("launcher", nodes) == ""
    assert "'my_l'" in openmpi4.check_names("my_l", nodes)
    assert "'a_b'" in openmpi4.check_names("l", [Node(name="a_b", slots=1)])


def test_site_parameters() -> None:
    """Comments and blanks do not matter."""
    assert openmpi4.site_params("# x\nbtl = ^a,b # y\n\npml=ob1\n") == {"btl": "^a,b", "pml": "ob1"}


EXIT = """mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[40295,1],2]
  Exit code:    3
"""
KILLED = "mpirun noticed that process rank 2 with PID 61 on node w2 exited on signal 9 (Killed).\n"
ABORT = "MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 7.\n"
LOST = """ORTE has lost communication with a remote daemon.

  HNP daemon   : [[40313,0],0] on node launcher
  Remote daemon: [[40313,0],2] on node w2
"""
NO_START = """ssh: connect to host w2 port 22: Connection refused
ORTE was unable to reliably start one or more daemons.
This usually is caused by:
"""


def test_failures_are_attributed() -> None:
    """Rank, host, signal and code are read from mpirun's own words."""
    (exited,) = openmpi4.failures(EXIT)
    (killed,) = openmpi4.failures(KILLED)
    (aborted,) = openmpi4.failures(ABORT)
    assert (exited.rank, exited.code) == (2, 3)
    assert (killed.rank, killed.host, killed.signal) == (2, "w2", 9)
    assert (aborted.rank, aborted.code) == (2, 7)
    assert [one.rank for one in openmpi4.failures(ABORT + KILLED)] == [2, 2]
    assert openmpi4.failures("all is well\n") == []


def test_the_daemon_that_was_lost_is_the_remote_one() -> None:
    """The message names both ends; the worker is the one that was lost."""
    (lost,) = openmpi4.failures(LOST)
    assert lost.host == "w2"


def test_start_failures_are_told_from_ranks_that_failed() -> None:
    """Only where no rank ran has the start failed."""
    assert openmpi4.start_failed(NO_START)
    assert openmpi4.start_failed("bash: line 1: orted: command not found\n")
    assert not openmpi4.start_failed(EXIT)
    assert not openmpi4.start_failed(NO_START + KILLED)


@pytest.mark.parametrize(
    ("text", "exists", "code"),
    [
        ("mpirun was unable to find the specified executable file, and therefore", False, 127),
        ("as it could not access\nor execute an executable:", True, 126),
        ("as it could not access\nor execute an executable:", False, 127),
        (EXIT, True, None),
    ],
)
def test_a_program_that_cannot_run(text: str, exists: bool, code: int | None) -> None:
    """126 and 127 as a shell would say; nothing else is mistaken for them."""
    assert openmpi4.command_fault(text, exists=exists) == code
