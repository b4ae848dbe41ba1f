"""Workers ask each other in a ring, and only silence counts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from mpiboot.errors import ExitCode
from mpiboot.link.messages import Message
from mpiboot.model.outcome import Fault
from mpiboot.mpi import mpich
from mpiboot.plan import verdict
from mpiboot.plan.evidence import Cause, Evidence, Halt
from mpiboot.plan.layout import Layout
from mpiboot.plan.neighbours import policy, ring, told
from mpiboot.roles import calling


def test_each_asks_the_next() -> None:
    """All are asked once; who is alone, or shares the address, asks nobody."""
    assert ring({"a": "1", "b": "2", "c": "3"}) == {"a": "b", "b": "c", "c": "a"}
    assert ring({"a": "1", "b": "1", "c": "3"}) == {"b": "c", "c": "a"}
    assert ring({"a": "1"}) == {}
    assert ring({}) == {}


def test_what_silence_means() -> None:
    """The first pair is named, with the reason and the remedy; nothing is said of nothing."""
    asked = {"a": "b", "b": "a"}
    text = told({"b": "as well", "a": "no answer from 10.0.0.2, port 40000, within 2 s"}, asked)
    assert text.startswith("a does not reach b, while the port of ssh is open: no answer from 10.")
    assert "within 2 s, and 1 more." in text
    assert "allow all TCP ports" in text
    assert told({}, asked) == ""


@pytest.mark.parametrize(
    "name",
    ["btl_tcp_port_min_v4=46000", "OMPI_MCA_btl_tcp_port_range_v4", "oob_tcp_dynamic_ipv4_ports",
     "I_MPI_PORT_RANGE", "MPIR_CVAR_CH3_PORT_RANGE", "FI_TCP_PORT_LOW_RANGE", "UCX_TCP_PORT_RANGE"],
)  # fmt: skip
def test_ranges_that_a_firewall_may_allow(name: str) -> None:
    """Who gives MPI a range of ports, or has RDMA, is only warned; and who says so oneself."""
    assert policy("fail", ["PATH", name], rdma=False) == "warn"
    assert policy("off", [name], rdma=False) == "off"


def test_silence_is_a_failure_by_default() -> None:
    """Ranks would hang, as far as anybody can tell."""
    assert policy("fail", ["PATH", "SSH_PORT", "NCCL_SOCKET_IFNAME"], rdma=False) == "fail"
    assert policy("fail", [], rdma=True) == "warn"
    assert policy("warn", [], rdma=False) == "warn"
    assert policy("fail", [], rdma=False, elastic=True) == "warn"


def test_the_verdict_on_workers_that_are_cut_off() -> None:
    """242, for those who run the machines; what mpirun says when it is ended is no cause."""
    halt = Halt(cause=Cause.CUT_OFF, detail="a does not reach b")
    evidence = Evidence(code=143, halt=halt, stderr="", lost=(), leased=2, workers=2)
    outcome = verdict.judge(evidence, mpich, Layout(places=(), np=2))
    assert (outcome.code, outcome.fault) == (ExitCode.LAUNCH_FAILED, Fault.INFRASTRUCTURE)
    assert outcome.message == outcome.failures[0].message == halt.detail


@dataclass
class FakeLease:
    """A worker that reaches nobody; a dead one does not say so either."""

    name: str
    calls: calling.Calls
    alive: bool
    plain: bool = False
    heard_at: float = 0.0
    peer: tuple[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.peer = (self.name, 22)

    def send(self, message: Message) -> None:
        if self.alive:
            self.heard_at = asyncio.get_running_loop().time() + 0.001
            body = {"why": "no answer", "silent": True, "port": message.body["port"]}
            self.calls.hear(self.name, Message(kind=message.kind, body=body))


@pytest.mark.parametrize(
    ("alive", "expected"),
    [({"a", "b", "c"}, ["a does not reach b"]), ({"a", "c"}, ["c does not reach a"]), ({"a"}, [])],
)
def test_a_worker_that_is_gone_is_not_taken_for_cut_off(
    monkeypatch: pytest.MonkeyPatch, alive: set[str], expected: list[str]
) -> None:
    """Only silence between two that both talk to the launcher is a matter of ports."""
    monkeypatch.setattr(calling, "_ANSWER_S", 0.02)
    calls = calling.Calls()
    heard: list[str] = []

    async def watch() -> None:
        leases: dict[str, Any] = {n: FakeLease(n, calls, n in alive) for n in ("a", "b", "c")}
        await calls._neighbours(leases, heard.append)

    asyncio.run(watch())
    assert [text.partition(",")[0] for text in heard] == expected
