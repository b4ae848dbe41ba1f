"""Order, names and slots of the hostfile follow from what answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mpiboot.errors import ConfigError, ExitCode
from mpiboot.model.facts import Facts
from mpiboot.model.hosts import Host
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Node
from mpiboot.plan import layout as layouts
from mpiboot.plan.gather import Reach, Seen
from mpiboot.plan.layout import Place, arrange, node_name, settle


class Visited(tuple[Place, ...]):  # noqa: SLOT001 - it counts
    """Places that count how many of them are looked at."""

    visits = 0

    def __iter__(self) -> Iterator[Place]:
        for place in super().__iter__():
            self.visits += 1
            yield place


def ready(
    name: str,
    *,
    slots: int | None = None,
    facts: Facts | None = None,
    here: bool = False,
    address: str = "10.0.0.9",
) -> Seen:
    return Seen(
        host=Host(name=name, slots=slots),
        reach=Reach.READY,
        address=address,
        facts=facts,
        here=here,
    )


@pytest.mark.parametrize(
    ("name", "address", "here", "node"),
    [
        ("w1", "10.0.0.1", False, "w1"),
        ("w-1.job.ns.svc", "10.0.0.1", False, "w-1.job.ns.svc"),
        ("10.0.0.1", "10.0.0.1", False, "10.0.0.1"),
        ("my_app_1", "10.0.0.1", False, "10.0.0.1"),
        ("fd00::1", "fd00::1", False, "node-fd00-0000-0000-0000-0000-0000-0000-0001"),
        ("me.job.ns.svc", "", True, "me"),
        ("127.0.0.1", "", True, "me"),
    ],
)
def test_the_name_that_mpirun_sees(name: str, address: str, here: bool, node: str) -> None:
    """Legal names stay; what ORTE refuses or crashes on is replaced; this container is itself."""
    assert node_name(name, address, "me", here=here) == node


def test_slots_given_beat_the_setting_beat_the_facts() -> None:
    """Each place says where its slots come from."""
    facts = Facts(cpus=3.5)
    gpus = Facts(cpus=8, gpus=4)

    auto = arrange(
        [ready("a", slots=5, facts=facts), ready("b", facts=facts), ready("c", facts=gpus), ready("d")],
        own_hostname="me", slots="auto", np=0,
    )  # fmt: skip

    assert [place.slots for place in auto.places] == [5, 3, 4, 1]
    assert [place.why for place in auto.places] == [
        "given with the host",
        "3.5 CPUs by quota and cpuset",
        "visible GPUs",
        "plain sshd says nothing of its CPUs",
    ]
    fixed = arrange(
        [ready("a", slots=5), ready("b", facts=gpus)], own_hostname="me", slots="2", np=0
    )
    assert [place.slots for place in fixed.places] == [5, 2]


def test_np_defaults_to_all_slots() -> None:
    """Without -np every slot gets a rank."""
    layout = arrange(
        [ready("a", slots=2), ready("b", slots=3)], own_hostname="me", slots="auto", np=0
    )
    assert layout.np == layout.total_slots == 5
    assert layout.nodes == [Node(name="a", slots=2), Node(name="b", slots=3)]


def test_more_ranks_than_slots_is_refused_with_the_table() -> None:
    """78, and the table tells who has how many, and why."""
    with pytest.raises(ConfigError) as caught:
        arrange([ready("a", slots=2)], own_hostname="me", slots="auto", np=3)
    assert caught.value.code == ExitCode.CONFIG
    assert "3 ranks are wanted, but the workers have 2 slots" in str(caught.value)
    assert "a  slots 2 (given with the host)" in str(caught.value)


def test_this_container_has_no_address_to_log_in_to() -> None:
    """Its own line needs no ssh."""
    (place,) = arrange([ready("me", slots=1, here=True)], own_hostname="me", slots="1", np=0).places
    assert (place.address, place.node) == ("", "me")


def test_nodes_in_messages_get_their_names_back() -> None:
    """People read the name that they gave."""
    layout = arrange([ready("my_app_1", slots=1)], own_hostname="me", slots="1", np=0)
    assert layout.name_of("10.0.0.9") == "my_app_1"
    assert layout.name_of("stranger") == "stranger"


def test_the_first_place_that_is_called_so_counts() -> None:
    """Where a name fits several places, the first in the job's order is meant."""
    chosen = [ready("w.a", slots=1), ready("w.b", slots=1)]
    layout = arrange(chosen, own_hostname="me", slots="1", np=0, calls="name")
    assert [layout.name_of(name) for name in ("w", "w.a", "w.b", "10.0.0.9")] == [
        "w.a", "w.a", "w.b", "w.a",
    ]  # fmt: skip


def test_names_in_messages_cost_no_look_at_all_places() -> None:
    """A job whose ranks fail all at once asks for a name per rank: places are gone through once."""
    layout = arrange(
        [ready(f"w{n}", slots=1) for n in range(50)], own_hostname="me", slots="1", np=0
    )
    places = Visited(layout.places)
    watched = replace(layout, places=places)
    assert [watched.name_of(f"w{n}") for n in range(50)] == [f"w{n}" for n in range(50)]
    assert places.visits == 50


def test_names_that_open_mpi_would_merge_become_addresses() -> None:
    """Those with one first label; who has a label alone keeps the name, and so does this container."""
    chosen = [
        ready("mpi-worker.1.job.ns.svc", slots=1, address="10.0.0.1"),
        ready("MPI-worker.2.job.ns.svc", slots=1, address="fd00::2"),
        ready("w-0.job.ns.svc", slots=1, address="10.0.0.3"),
        ready("w-1.job.ns.svc", slots=1, address="10.0.0.4"),
        ready("me.job.ns.svc", slots=1, here=True, address=""),
        ready("me.other.ns.svc", slots=1, address="10.0.0.6"),
        ready("10.0.0.7", slots=1, address="10.0.0.7"),
        ready("10.0.0.8", slots=1, address="10.0.0.8"),
    ]
    layout = arrange(chosen, own_hostname="me", slots="1", np=0)
    assert [node.name for node in layout.nodes] == [
        "10.0.0.1",
        "node-fd00-0000-0000-0000-0000-0000-0000-0002",
        "w-0.job.ns.svc",
        "w-1.job.ns.svc",
        "me",
        "10.0.0.6",
        "10.0.0.7",
        "10.0.0.8",
    ]
    assert layout.name_of("10.0.0.1") == "mpi-worker.1.job.ns.svc"


def nodes(count: int, calls: str) -> list[str]:
    chosen = [
        ready(f"w-{number}.job", slots=1, address=f"10.0.0.{number}") for number in range(count)
    ]
    places = settle(chosen, own_hostname="me", slots="1", calls=calls)
    return [place.node for place in places]


def test_many_are_called_by_their_addresses() -> None:
    """Mpirun would look up every name; up to 64 of them are worth being read."""
    assert nodes(64, "auto")[0] == "w-0.job"
    assert nodes(65, "auto")[0] == "10.0.0.0"
    assert nodes(65, "name")[0] == "w-0.job"
    assert nodes(1, "address") == ["10.0.0.0"]


def test_names_of_those_who_come_and_go_do_not_change() -> None:
    """Of an elastic job how many there are does not decide how one is called."""
    assert layouts.calls(Settings()) == "auto"
    assert layouts.calls(Settings(elastic=True)) == "name"
    assert layouts.calls(Settings(elastic=True, hostfile_names="address")) == "address"
    twins = [ready(f"w.{number}", slots=1, address=f"10.0.0.{number}") for number in (1, 2)]
    (one,) = settle(twins[:1], own_hostname="me", slots="1", calls="auto", among=twins)
    assert one.node == "10.0.0.1"


def test_an_address_that_two_workers_share_names_neither() -> None:
    """On one node's network they differ by their ports: only their names tell them apart."""
    pair = [ready(f"w-{number}.job", slots=1, address="10.0.0.1") for number in (0, 1)]
    places = settle(pair, own_hostname="me", slots="1", calls="address")
    assert [place.node for place in places] == ["w-0.job", "w-1.job"]
