"""Workers ask each other in a ring, and only silence counts."""

from __future__ import annotations

import pytest

from mpiboot.plan.neighbours import policy, ring, told


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
