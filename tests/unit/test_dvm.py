"""Daemons that stay: which jobs have them, and which calls of mpirun fit."""

from __future__ import annotations

import shlex

import pytest

from mpiboot.mpi import openmpi5
from mpiboot.plan import dvm
from tests.unit.test_ownargs import job

HAS = {
    "dialect": "Open MPI 5", "program": "/usr/bin/prte", "wrapped": True, "elastic": False,
    "rsh_agent": False, "here": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("hostname", "hostname"),
        ("-np 2 -x A=1 --map-by slot:OVERSUBSCRIBE -- a -H b", None),
        ("--mca pml ob1 --mca btl ^openib -wd /tmp a", None),
        ("--hostfile /r/hostfile -np 1 a", "-np 1 a"),
        ("-H w1:1,w2:1 a", "a"),
        ("--host=w1:1,w2:1 a", "a"),
    ],
)
def test_a_call_fits(text: str, inside: str | None) -> None:
    """Words of the ranks go in as they are; the job's own hosts are left out."""
    call = dvm.call(shlex.split(text), job("Open MPI 5"))
    assert (" ".join(call.args), call.unfit) == (inside or text, "")


@pytest.mark.parametrize(
    ("text", "unfit"),
    [
        ("-np 1 a : -np 1 b", "several programs"),
        ("-H w2:1 a", "-H"),
        ("-H w1:2,w2:1 a", "-H"),
        ("--hostfile mine a", "--hostfile"),
        ("--mca oob_tcp_if_include eth0 a", "--mca oob_tcp_if_include eth0"),
        ("--mca rmaps_default_mapping_policy node a", "--mca rmaps_default_mapping_policy node"),
        ("--prtemca plm ssh a", "--prtemca"),
        ("--no-such-option a", "--no-such-option"),
        ("--timeout 5 a", "--timeout"),
        ("--version", "--version"),
        ("-np 2", "no program"),
        ("", "no program"),
    ],
)
def test_a_call_does_not_fit(text: str, unfit: str) -> None:
    """What a running DVM would not heed keeps the call out, with all of its words."""
    words = tuple(shlex.split(text))
    assert dvm.call(words, job("Open MPI 5")) == dvm.Call(args=words, unfit=unfit)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"dialect": "MPICH"}, "MPICH has none"),
        ({"program": ""}, "no prte with prun"),
        ({"elastic": True}, "elastic"),
        ({"rsh_agent": True}, "not reached by ssh"),
        ({"here": True}, "launcher's own container"),
        ({"wrapped": False}, "without their wrapper"),
    ],
)
def test_who_has_one(change: dict[str, object], why: str) -> None:
    """Each thing that makes a job unfit is told."""
    told = dvm.missing(**{**HAS, **change})  # type: ignore[arg-type]
    assert (why in told) if why else told == ""


def test_variables_of_the_runtime() -> None:
    """What the ranks' MPI reads itself may change from call to call."""
    env = {"PRTE_MCA_plm": "ssh", "PMIX_MCA_x": "1", "OMPI_MCA_pml": "ob1", "PATH": "/bin"}
    assert dvm.runtime_variables(env) == {"PRTE_MCA_plm": "ssh", "PMIX_MCA_x": "1"}


def test_a_rank_is_named_in_a_dvm_too() -> None:
    """There its messages come from prte, and not from prterun."""
    said = "Process name: [prte-launcher-30@3,1]\n   Exit code:    7\n"
    failed = openmpi5.failures(said)
    assert [(one.rank, one.code) for one in failed] == [(1, 7)]
    said = "prte noticed that process rank 1 with PID 12 on node w2 exited on signal 9 (Killed)."
    failed = openmpi5.failures(said)
    assert [(one.rank, one.host, one.signal) for one in failed] == [(1, "w2", 9)]
