"""The network of a job: none is set where there is no choice, else the one on which hosts were reached."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError, ExitCode
from mpiboot.model.facts import Facts, Network
from mpiboot.plan import networks
from mpiboot.plan.layout import Place
from mpiboot.plan.networks import Choice, choose
from mpiboot.plan.parties import Party, parties

DOCKER = "docker0 172.17.0.1/16"


def party(name: str, address: str, *nets: str, ranks: bool = True) -> Party:
    """Make a host of texts like `eth0 10.1.0.7/24`; without any it is a plain sshd."""
    found = tuple(Network(name=net.split()[0], cidr=net.split()[1]) for net in nets)
    facts = Facts(networks=found) if found else None
    return Party(name=name, address=address, facts=facts, ranks=ranks)


W1 = party("w1", "10.1.0.1", "eth0 10.1.0.1/24", DOCKER)
W2 = party("w2", "10.1.0.2", "eth0 10.1.0.2/24", DOCKER)
LAUNCHER = party("launcher", "10.1.0.9", "eth0 10.1.0.9/24", ranks=False)


@pytest.mark.parametrize(
    ("hosts", "why"),
    [
        ([W1], "all ranks run in one container"),
        ([party("w1", "10.1.0.1", "eth0 10.1.0.1/24"), LAUNCHER], "more than one network"),
        ([party("w1", "10.1.0.1", "eth0 10.1.0.1/24", "eth0 fd00::1/64"), LAUNCHER], "more than"),
        ([party("w1", "10.1.0.1"), LAUNCHER], "w1: no agent tells its networks"),
        ([party("w1", "203.0.113.5", "eth0 10.1.0.1/24", DOCKER), LAUNCHER], "none of its own"),
        ([party("w1", "", "eth0 10.1.0.1/24", DOCKER), LAUNCHER], "none of its own"),
    ],
)
def test_nothing_is_set_where_nothing_is_to_be_chosen(hosts: list[Party], why: str) -> None:
    """One network each, one container, or an address that a host does not have: MPI does as it likes."""
    choice = choose(hosts)
    assert (choice.cidrs, choice.included, choice.name) == ((), (), "")
    assert why in choice.reason
    assert networks.variables(choice) == {}


def test_the_last_index_of_the_chosen_interfaces() -> None:
    """What a host has beside them does not count."""
    nets = (
        Network(name="eth0", cidr="10.1.0.3/24", index=40001),
        Network(name="cni0", cidr="10.99.0.1/24", index=50000),
    )
    late = Party(name="w3", address="10.1.0.3", facts=Facts(networks=nets))
    assert choose([LAUNCHER, W1, late]).last_index == 40001
    assert choose([LAUNCHER, W1, late], ["10.1.0.0/24"]).last_index == 40001
    assert choose([LAUNCHER, W1]).last_index == 0


def test_the_network_on_which_hosts_were_reached() -> None:
    """Docker's bridge has the same address on every host, and joins none of them."""
    assert choose([LAUNCHER, W1, W2]) == Choice(
        cidrs=("10.1.0.0/24",),
        included=("10.1.0.0/24",),
        name="eth0",
        per_host={"launcher": "eth0", "w1": "eth0", "w2": "eth0"},
        reason="10.1.0.0/24 (eth0): the hosts reach each other on it",
    )


def test_names_that_differ() -> None:
    """There is no name for all then, but one for each host; a launcher without ranks has no say."""
    other = party("w2", "10.1.0.2", "net1 10.1.0.2/24", DOCKER)
    choice = choose([LAUNCHER, W1, other])
    assert (choice.included, choice.name) == (("10.1.0.0/24",), "")
    assert choice.per_host == {"launcher": "eth0", "w1": "eth0", "w2": "net1"}
    assert networks.variables(choice) == {}
    launcher = party("launcher", "10.1.0.9", "ens5 10.1.0.9/24", ranks=False)
    assert choose([launcher, W1, W2]).name == "eth0"


def bare(name: str, address: str, *nets: str) -> Party:
    return party(name, address, f"eth0 {address}/32", *nets)


def test_hosts_that_have_a_network_each() -> None:
    """One that holds all of theirs is told: Open MPI warns of each that a host is not on."""
    hosts = [bare("w1", "10.244.1.7", DOCKER), bare("w2", "10.244.9.3", DOCKER)]
    choice = choose(hosts)
    assert choice.cidrs == ("10.244.1.7/32", "10.244.9.3/32")
    assert choice.included == ("10.244.0.0/20",)


def test_a_network_that_holds_another_interface_too_is_no_answer() -> None:
    """The interface's name is told then, if each host has it; else each host's own network."""
    within = [
        party(f"w{n}", f"10.0.0.{n}", f"eth0 10.0.0.{n}/8", "cni0 10.99.0.1/16") for n in (1, 2)
    ]
    assert choose(within).included == ("eth0",)
    one = bare("w1", "10.244.1.7", "net1 10.244.200.1/24")
    two = party("w2", "10.244.201.3", "eth0 10.244.201.3/32")
    assert choose([one, two]).included == ("eth0",)
    other = party("w2", "10.244.201.3", "ens5 10.244.201.3/32")
    choice = choose([one, other])
    # A /32 would be taken for all there is.
    assert choice.included == ("10.244.1.6/31", "10.244.201.2/31")
    assert choice.cidrs == ("10.244.1.7/32", "10.244.201.3/32")


def test_ipv6() -> None:
    """An IPv6 network ends Open MPI: it is told a name, or else IPv4 on the same interface."""
    dual = party("w1", "fd00::1", "eth0 10.1.0.1/24", "eth0 fd00::1/64", DOCKER)
    only = party("w2", "fd00::2", "eth0 fd00::2/64", DOCKER)
    both = choose([dual, party("w2", "fd00::2", "eth0 fd00::2/64", "eth0 10.1.0.2/24")])
    assert both.cidrs == ("fd00::/64", "10.1.0.0/24")
    assert both.included == ("eth0",)
    by_4 = party("w1", "10.1.0.1", "eth0 10.1.0.1/24", "eth0 fd00::1/64", DOCKER)
    assert choose([by_4, W2]).included == ("eth0",)
    assert choose([by_4, W2]).cidrs == ("10.1.0.0/24",)
    other = party("w2", "10.1.0.2", "net1 10.1.0.2/24", "net1 fd00::2/64")
    assert choose([by_4, other]).included == ("10.1.0.0/24",)
    assert choose([dual, only]).included == ("eth0",)
    renamed = party("w2", "fd00::2", "net1 fd00::2/64")
    assert choose([dual, renamed]).included == ()
    assert choose([dual, renamed]).cidrs == ("fd00::/64", "10.1.0.0/24")


def test_plain_hosts_are_taken_on_trust() -> None:
    """The address of one is known, and nothing else: no name is told, and that is said."""
    choice = choose([LAUNCHER, W1, party("w2", "10.1.0.2")])
    assert (choice.included, choice.name) == (("10.1.0.0/24",), "")
    assert "w2: no agent tells its networks" in choice.reason
    assert choose([LAUNCHER, W1, party("w2", "10.1.1.2")]).included == ("10.1.0.0/23",)


@pytest.mark.parametrize(
    ("wanted", "cidrs", "included", "name"),
    [
        (["eth0"], ("10.1.0.0/24",), ("eth0",), "eth0"),
        (["10.1.0.0/16"], ("10.1.0.0/24",), ("10.1.0.0/16",), "eth0"),
        (["10.1.0.77/24"], ("10.1.0.0/24",), ("10.1.0.77/24",), "eth0"),
        (["10.9.0.0/16, 10.1.0.0/24"], ("10.1.0.0/24",), ("10.9.0.0/16", "10.1.0.0/24"), "eth0"),
        (["docker0,eth0"], ("172.17.0.0/16", "10.1.0.0/24"), ("docker0", "eth0"), "docker0"),
    ],
)
def test_the_users_word(
    wanted: list[str], cidrs: tuple[str, ...], included: tuple[str, ...], name: str
) -> None:
    """A name or a network is taken as it was given, even where there would be no choice."""
    choice = choose([W1, W2], wanted)
    assert (choice.cidrs, choice.included, choice.name) == (cidrs, included, name)
    assert "yours" in choice.reason


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("docker0", "launcher has no interface docker0; it has eth0 10.1.0.9/24"),
        ("eth0,ib0", "launcher has no interface ib0"),
        ("10.2.0.0/16", "launcher has no address in 10.2.0.0/16; it has eth0 10.1.0.9/24"),
        ("10.1.0.0/33", "does not appear to be an IPv4 or IPv6 network"),
        ("eth 0", "give names of interfaces, or networks in CIDR form"),
    ],
)
def test_the_user_wants_what_a_host_has_not(wanted: str, why: str) -> None:
    """The host is named, with what it has: Open MPI itself would crash."""
    with pytest.raises(ConfigError) as fault:
        choose([LAUNCHER, W1, W2], [wanted])
    assert why in str(fault.value)
    assert fault.value.code == ExitCode.CONFIG


def test_the_users_word_where_nobody_tells() -> None:
    """Among plain hosts the user knows better."""
    choice = choose([party("w1", "10.1.0.1"), party("w2", "10.1.0.2")], ["ib0"])
    assert (choice.included, choice.name, choice.cidrs) == (("ib0",), "", ())
    assert "no agent tells its networks" in choice.reason


def test_variables_of_the_libraries() -> None:
    """Each is told the name in its own form; what is set already stays; UCX must not lose RDMA."""
    choice = choose([LAUNCHER, W1, W2])
    assert networks.variables(choice) == {
        "NCCL_SOCKET_IFNAME": "=eth0",
        "GLOO_SOCKET_IFNAME": "eth0",
        "HOROVOD_GLOO_IFACE": "eth0",
        "FI_TCP_IFACE": "eth0",
    }
    given = networks.variables(choice, rdma=False, given={"NCCL_SOCKET_IFNAME": "x"})
    assert given["UCX_NET_DEVICES"] == "eth0"
    assert "NCCL_SOCKET_IFNAME" not in given


def place(name: str, address: str) -> Place:
    return Place(name=name, node=name, slots=1, address=address, port=22, user="", why="")


def test_parties_of_a_job() -> None:
    """The launcher is one more host, unless it is one of the workers."""
    own, facts = Facts(hostname="me"), Facts(hostname="w1")
    assert parties([place("w1", "10.1.0.1")], [facts], own, "10.1.0.9") == [
        Party(name="me", address="10.1.0.9", facts=own, ranks=False, here=True),
        Party(name="w1", address="10.1.0.1", facts=facts),
    ]
    here = parties([place("me", ""), place("w1", "10.1.0.1")], [None, None], own, "10.1.0.9")
    assert here == [
        Party(name="me", address="10.1.0.9", facts=own, here=True),
        Party(name="w1", address="10.1.0.1"),
    ]


addresses = st.ip_addresses(v=4, network="10.0.0.0/8").map(str)
prefixes = st.integers(8, 32)


@st.composite
def hosts(draw: st.DrawFn) -> list[Party]:
    made = []
    for number in range(draw(st.integers(2, 5))):
        nets = [
            f"{draw(st.sampled_from(['eth', 'net']))}{at} {draw(addresses)}/{draw(prefixes)}"
            for at in range(draw(st.integers(1, 3)))
        ]
        reached = draw(st.sampled_from(nets)).split()[1].split("/")[0]
        made.append(party(f"w{number}", reached, *nets))
    return made


@given(hosts())
def test_what_is_told_holds_the_address_at_which_each_host_was_reached(made: list[Party]) -> None:
    """And where it is one network alone, then no address of another interface."""
    choice = choose(made)
    nets = [ipaddress.ip_network(text) for text in choice.included if "/" in text]
    for host in made if nets else []:
        assert any(ipaddress.ip_address(host.address) in net for net in nets)
        assert all(net.prefixlen < 32 for net in nets)
        others = [net for net in host.networks if net.name != choice.per_host[host.name]]
        if len(nets) == 1 and len(set(choice.per_host.values())) == 1:
            assert not any(ipaddress.ip_interface(net.cidr).ip in nets[0] for net in others)
    for name in (text for text in choice.included if "/" not in text):
        assert all(name in {net.name for net in host.networks} for host in made)
